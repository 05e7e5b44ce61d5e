/** Starts the server process, kills it, starts it again on the same folder, and tells clients where it is now. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('./crash-server.ts', import.meta.url))

export class CrashingServer {
  readonly #folder: string
  #child: ChildProcess | undefined
  #address = Promise.withResolvers<string>()
  kills = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  get effectsFile(): string {
    return join(this.#folder, 'effects')
  }

  /** Where it listens; while it is down, where it will. */
  get address(): Promise<string> {
    return this.#address.promise
  }

  async start(): Promise<void> {
    const { promise, resolve, reject } = this.#address
    const command = ['--conditions=callplane-source', PROGRAM, join(this.#folder, 'data'), this.effectsFile]
    this.#child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] })
    const child = this.#child
    child.once('exit', (code, signal) => reject(new Error(`The server ended by itself: ${code ?? signal}`)))
    createInterface(child.stdout as NodeJS.ReadableStream).once('line', resolve)
    await promise
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (!child) return
    this.#child = undefined
    // Before the signal, so that no client that loses its connection asks for the old address again.
    this.#address = Promise.withResolvers()
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    this.kills += 1
  }
}
