/** A server that is not ours, as a child process that a test can stop, kill and start again on the same data. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type Command, spawnTied } from './tied-process.ts'

export interface ServerProcess extends AsyncDisposable {
  /** Ends the process in an orderly way. Its data stays. */
  stop(): Promise<void>
  /** Ends the process at once, as a crash would. */
  kill(): Promise<void>
  /** Starts it on the same port and the same data. A running process is stopped first. */
  restart(): Promise<void>
}

export interface ServerProgram {
  command: Command
  /** Part of the line that it writes when clients can connect. */
  readyLine: string
  /** The signal for an orderly end. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals
}

export async function startServer({
  command,
  readyLine,
  stopSignal = 'SIGTERM',
}: ServerProgram): Promise<ServerProcess> {
  let running = await start(command, readyLine)
  const end = async (signal: NodeJS.Signals) => {
    if (hasEnded(running)) return
    const exit = once(running, 'exit')
    running.kill(signal)
    await exit
  }
  return {
    stop: () => end(stopSignal),
    kill: () => end('SIGKILL'),
    async restart() {
      await end(stopSignal)
      running = await start(command, readyLine)
    },
    [Symbol.asyncDispose]: () => end('SIGKILL'),
  }
}

async function start(command: Command, readyLine: string): Promise<ChildProcess> {
  const child = spawnTied(command)
  const lines: string[] = []
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => reject(new Error(`${command[0]} ended before it was ready:\n${lines.join('\n')}`)))
    for (const input of [child.stdout, child.stderr]) {
      // Read to the end: a full pipe would block the server.
      createInterface({ input }).on('line', (line) => {
        if (line.includes(readyLine)) resolve()
        if (lines.length < 100) lines.push(line)
      })
    }
  })
  return child
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
