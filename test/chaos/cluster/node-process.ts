/** One `callplane serve`. It can be killed, paused and started again, always at the same address. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { spawnTied } from '../../engines/tied-process.ts'
import type { Link } from './link.ts'

export interface NodeOptions {
  number: number
  port: number
  /** Its ways to the two places of the database. */
  links: readonly Link[]
  /** The folder with the sources. Another one is another version. */
  root: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  /** Modules that Node loads before the program. */
  imports: readonly string[]
  logFile: string
  /** The process ended by itself. */
  endedByItself(number: number, how: string): void
}

const START_MS = 180_000

export class NodeProcess {
  readonly number: number
  readonly url: string
  readonly links: readonly Link[]
  readonly #options: NodeOptions
  readonly #log: WriteStream
  #root: string
  #clockMs = 0
  #child: ChildProcess | undefined
  /** True between the first response and the end of the process. */
  #serving = false
  #closed = false

  constructor(options: NodeOptions) {
    this.#options = options
    this.number = options.number
    this.url = `http://127.0.0.1:${options.port}`
    this.links = options.links
    this.#root = options.root
    this.#log = createWriteStream(options.logFile, { flags: 'a' })
  }

  /** Resolves when it responds. If it cannot start, for example without a database, it is started again. */
  async start(change: { clockMs?: number; root?: string } = {}): Promise<void> {
    this.#clockMs = change.clockMs ?? this.#clockMs
    this.#root = change.root ?? this.#root
    const deadline = performance.now() + START_MS
    while (!this.#closed) {
      if (!this.#child) this.#spawn()
      if (await this.#responds()) {
        this.#serving = true
        return
      }
      if (performance.now() > deadline) throw new Error(`Node ${this.number} does not start. See its log.`)
      await pause(50)
    }
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (!child) return
    this.#child = undefined
    this.#serving = false
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  stop(): void {
    this.#child?.kill('SIGSTOP')
  }

  continue(): void {
    this.#child?.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await this.kill()
    this.#log.end()
  }

  #spawn(): void {
    const { args, env, imports, number, port } = this.#options
    const program = [join(this.#root, 'scripts/callplane.js'), 'serve', '--port', String(port), ...args]
    const loaded = imports.flatMap((file) => ['--import', file])
    const settings = { ...env, CHAOS_NODE: String(number), CHAOS_CLOCK_MS: String(this.#clockMs) }
    const variables = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
    const node = [process.execPath, '--conditions=callplane-source', ...loaded, ...program]
    const child = spawnTied(['env', ...variables, ...node])
    this.#child = child
    for (const output of [child.stdout, child.stderr]) output.pipe(this.#log, { end: false })
    child.once('exit', (code, signal) => {
      if (this.#child !== child) return
      this.#child = undefined
      if (this.#serving) this.#options.endedByItself(this.number, String(code ?? signal))
      this.#serving = false
    })
  }

  async #responds(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(2_000) })).ok
    } catch {
      return false
    }
  }
}
