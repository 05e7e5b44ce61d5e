/** Database and queue servers that the peers need, each on a free loopback port with its data in the run's folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export interface Engine {
  readonly name: string
  readonly port: number
  /** User and system time of the server and its children so far. `NaN` if the operating system does not report it. */
  cpuUs(): number
  stop(): Promise<void>
}

/** The reason why an engine is missing, and how to install it. */
export interface Missing {
  readonly missing: string
}

export type StartEngine = (folder: string) => Promise<Engine | Missing>

const START_MS = 30_000
const STOP_MS = 10_000

/** Also looks in the sbin folders, where Debian installs some servers and which are often not on the PATH. */
export function findProgram(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path))
}

/** Shows the program's output only if it does not start. */
export async function startProgram(path: string, args: readonly string[], port: number): Promise<ChildProcess> {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const said: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => said.push(chunk))
  const giveUpAt = performance.now() + START_MS
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > giveUpAt) {
      child.kill('SIGKILL')
      throw new Error(`${path} did not start:\n${Buffer.concat(said).toString()}`)
    }
    await pause(20)
  }
  return child
}

export async function endProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const cut = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(cut)
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
