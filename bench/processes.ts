/**
 * Starts the servers under test and the load generator, each in its own process, and stops them by their process id.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Asker, createAsker } from './ask.ts'
import type { BrokerLoadOptions } from './broker-load.ts'
import type { WindowResult } from './call-window.ts'
import type { ReadersOptions } from './frame-readers.ts'
import type { HostAnswers, HostOptions } from './host.ts'
import type { LoadOptions, LoadResult } from './load.ts'
import type { SocketLoadOptions } from './socket-load.ts'

export interface Host {
  readonly name: string
  readonly port: number
  readonly startedInMs: number
  /** User and system time of the whole process so far, including its helper threads. */
  cpuUs(): Promise<number>
  memory(): Promise<HostAnswers['memory']>
  ask: Asker
  stop(): Promise<void>
}

export interface Load {
  run(options: LoadOptions): Promise<LoadResult>
  stop(): Promise<void>
}

/**
 * If `outputTo` is set, the server's standard output goes to that file. `bench` is the folder whose contenders are
 * started. It belongs to another tree when two trees are compared.
 */
export async function startHost(
  name: string,
  options: HostOptions,
  outputTo?: string,
  bench = import.meta.dirname,
): Promise<Host> {
  const output = outputTo === undefined ? undefined : openSync(outputTo, 'a')
  const child = fork(join(bench, 'host.ts'), [], {
    execArgv: ['--conditions=callplane-source'],
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', output ?? 'inherit', 'inherit', 'ipc'],
  })
  if (output !== undefined) closeSync(output)
  const ask = createAsker(child, name)
  try {
    const { port, startedInMs } = await ask<HostAnswers['start']>('start', options)
    return {
      name,
      port,
      startedInMs,
      ask,
      cpuUs: () => ask<number>('cpuUs'),
      memory: () => ask<HostAnswers['memory']>('memory'),
      stop: () => end(child, ask),
    }
  } catch (thrown) {
    child.kill('SIGKILL')
    throw thrown
  }
}

export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('./load.ts', import.meta.url)))
  const ask = createAsker(child, 'the load generator')
  return {
    run: (options) => ask<LoadResult>('run', options),
    stop: () => end(child, ask),
  }
}

export interface SocketLoad {
  run(options: SocketLoadOptions): Promise<LoadResult>
  stop(): Promise<void>
}

/** Calls over one WebSocket. */
export function startSocketLoad(): SocketLoad {
  const child = fork(fileURLToPath(new URL('./socket-load.ts', import.meta.url)))
  const ask = createAsker(child, 'the load generator of sockets')
  return {
    run: (options) => ask<LoadResult>('run', options),
    stop: () => end(child, ask),
  }
}

export interface BrokerLoad {
  run(options: BrokerLoadOptions): Promise<WindowResult>
  stop(): Promise<void>
}

/** Calls through a broker. */
export function startBrokerLoad(): BrokerLoad {
  const child = fork(fileURLToPath(new URL('./broker-load.ts', import.meta.url)))
  const ask = createAsker(child, 'the load generator of brokers')
  return {
    run: (options) => ask<WindowResult>('run', options),
    stop: () => end(child, ask),
  }
}

/** The readers of streams. */
export interface Readers {
  open(options: ReadersOptions): Promise<void>
  read(durationMs: number): Promise<number>
  close(readers: number): Promise<void>
  stop(): Promise<void>
}

export function startReaders(): Readers {
  const child = fork(fileURLToPath(new URL('./frame-readers.ts', import.meta.url)))
  const ask = createAsker(child, 'the readers')
  return {
    open: (options) => ask('open', options),
    read: (durationMs) => ask<number>('read', durationMs),
    close: (readers) => ask('close', readers),
    stop: () => end(child, ask),
  }
}

async function end(child: ChildProcess, ask: Asker): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  await ask('stop')
  child.disconnect()
  const cut = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(cut)
}
