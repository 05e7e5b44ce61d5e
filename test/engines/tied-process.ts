/** A child process that cannot outlive this one: the kernel kills it, even if a signal ends us and no hook of a test runs. */
import { type ChildProcessByStdio, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

export type Command = readonly [program: string, ...args: string[]]

export function spawnTied(command: Command): ChildProcessByStdio<null, Readable, Readable> {
  return spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command], { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** The same for a program that reads its standard input. */
export function spawnTiedReader(command: Command): ChildProcessWithoutNullStreams {
  return spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command])
}
