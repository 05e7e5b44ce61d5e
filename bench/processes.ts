/**
 * Starts the servers under test and the load generator, each in its own process, and stops them by their process id.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { type Asker, createAsker } from './ask.ts'
import type { BrokerLoadOptions } from './broker-load.ts'
import type { WindowResult } from './call-window.ts'
import type { HostAnswers, HostOptions } from './host.ts'
import type { LoadOptions, LoadResult } from './load.ts'
import type { QuicLoadOptions } from './quic-load.ts'
import type { ReadersOptions } from './readers/reader.ts'
import type { SocketLoadOptions } from './socket-load.ts'

export interface Host {
  readonly name: string
  readonly pid: number
  readonly port: number
  readonly startedInMs: number
  /** User and system time of the whole process so far, including its helper threads. */
  cpuUs(): Promise<number>
  memory(): Promise<HostAnswers['memory']>
  ask: Asker
  /** Ends the process at once, as a crash would. */
  kill(): Promise<void>
  stop(): Promise<void>
}

export interface LoadOf<Options, Result = LoadResult> {
  run(options: Options): Promise<Result>
  stop(): Promise<void>
}

export type Load = LoadOf<LoadOptions>

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
      pid: child.pid as number,
      port,
      startedInMs,
      ask,
      cpuUs: () => ask<number>('cpuUs'),
      memory: () => ask<HostAnswers['memory']>('memory'),
      async kill() {
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      },
      stop: () => end(child, ask),
    }
  } catch (thrown) {
    child.kill('SIGKILL')
    throw thrown
  }
}

export function startLoad(): Load {
  return forkLoad('load.ts')
}

/** Calls over one WebSocket. */
export function startSocketLoad(): LoadOf<SocketLoadOptions> {
  return forkLoad('socket-load.ts')
}

/** Calls over one HTTP/3 connection. */
export function startQuicLoad(): LoadOf<QuicLoadOptions> {
  return forkLoad('quic-load.ts')
}

/** Calls through a broker. */
export function startBrokerLoad(): LoadOf<BrokerLoadOptions, WindowResult> {
  return forkLoad('broker-load.ts')
}

function forkLoad<Options, Result>(file: string): LoadOf<Options, Result> {
  const child = fork(join(import.meta.dirname, file))
  const ask = createAsker(child, `the load generator ${file}`)
  return {
    run: (options) => ask<Result>('run', options),
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

export function startReaders(transport: 'websocket' | 'quic' | 'webrtc'): Readers {
  const child = fork(join(import.meta.dirname, 'readers', `${transport}.ts`))
  const ask = createAsker(child, `the readers over ${transport}`)
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
