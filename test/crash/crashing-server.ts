/** Starts the server process, kills it, restarts it on the same folder, and gives clients its current address. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const fileAt = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const PROGRAM = fileAt('./crash-server.ts')
const COMMAND = [fileAt('../../src/cli/main.ts'), 'serve', fileAt('./operations.ts'), '--no-request-log', '--port', '0']

export class CrashingServer {
  readonly #folder: string
  readonly #workers: number | undefined
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | undefined
  #address = Promise.withResolvers<string>()
  kills = 0

  /**
   * With `workers`, it starts from the command line with that many worker processes and the hub process. `env` adds to
   * its environment.
   */
  constructor(folder: string, workers?: number, env: Readonly<Record<string, string>> = {}) {
    this.#folder = folder
    this.#workers = workers
    this.#env = env
  }

  /** True if the server may still run at the same address after a connection to it broke. */
  get outlivesConnections(): boolean {
    return this.#workers !== undefined
  }

  get effectsFile(): string {
    return join(this.#folder, 'effects')
  }

  get data(): string {
    return join(this.#folder, 'data')
  }

  /** The server's address. While the server is down, it resolves at the next start. */
  get address(): Promise<string> {
    return this.#address.promise
  }

  async start(): Promise<void> {
    const { promise, resolve, reject } = this.#address
    const { data } = this
    const command = this.#workers
      ? [...COMMAND, '--log-level', 'error', '--workers', String(this.#workers), '--data', data]
      : [PROGRAM, data]
    this.#child = spawn(process.execPath, ['--conditions=callplane-source', ...command], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...this.#env, CRASH_EFFECTS: this.effectsFile },
    })
    const child = this.#child
    child.once('exit', (code, signal) => reject(new Error(`The server ended by itself: ${code ?? signal}`)))
    createInterface(child.stdout as NodeJS.ReadableStream).once('line', (line) =>
      resolve(this.#workers ? (JSON.parse(line) as { url: string }).url : line),
    )
    await promise
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (!child) return
    this.#child = undefined
    // Set before the signal, so that a client that loses its connection does not get the old address again.
    this.#address = Promise.withResolvers()
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    this.kills += 1
  }

  /** Kills one of its workers, if there is one at the moment. The others continue. */
  killWorker(which: number): void {
    const pid = this.#child?.pid as number
    const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
    if (workers.length === 0) return
    process.kill(Number(workers[which % workers.length]), 'SIGKILL')
    this.kills += 1
  }
}
