/**
 * Talks with an MCP server over the standard streams of a process, and ends the process together with the processes
 * that it started. The library's own transport ends the process alone.
 */
import type { ChildProcess } from 'node:child_process'
import { PassThrough } from 'node:stream'
import {
  type JSONRPCMessage,
  ReadBuffer,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import { getDefaultEnvironment, type StdioServerParameters } from '@modelcontextprotocol/client/stdio'
import { killGroup, spawnGroup } from '../../platform/processes.ts'

/** How long a process may take to end after its input has ended, and again after it was asked to. */
const GRACE_MS = 2_000
const PROBE_GRACE_MS = 1_000

/**
 * The library finds out a server's revision with a second process, made by the same constructor, because older servers
 * exit at an unknown request. It does so only for a transport with `_serverParams` and its own `_dispose`.
 */
export class ProcessTransport implements Transport {
  readonly _serverParams: StdioServerParameters
  readonly stderr: PassThrough | null
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #messages: ReadBuffer
  #running: Running | undefined

  constructor(params: StdioServerParameters) {
    this._serverParams = params
    this.stderr = params.stderr === 'pipe' ? new PassThrough() : null
    this.#messages = new ReadBuffer(params)
  }

  get pid(): number | null {
    return this.#running?.child.pid ?? null
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this._serverParams
    const program = { file: command, args, env: { ...getDefaultEnvironment(), ...env }, ...(cwd && { cwd }) }
    const child = spawnGroup(program, ['pipe', 'pipe', this.stderr ? 'pipe' : 'ignore'])
    const closed = Promise.withResolvers<void>()
    this.#running = { child, closed: closed.promise }
    const report = (error: Error) => this.onerror?.(error)
    child.stdin?.on('error', report)
    child.stdout?.on('error', report).on('data', (bytes: Buffer) => this.#read(bytes))
    if (this.stderr) child.stderr?.pipe(this.stderr)
    // Its child processes cannot do its work, and may hold its output open.
    child.once('exit', () => killGroup(child))
    child.once('close', () => {
      this.#running = undefined
      closed.resolve()
      this.onclose?.()
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.on('error', (error) => {
        reject(error)
        report(error)
      })
    })
  }

  #read(bytes: Buffer): void {
    try {
      this.#messages.append(bytes)
    } catch (error) {
      // The message is larger than `maxBufferSize`.
      this.onerror?.(error as Error)
      void this.close()
      return
    }
    for (;;) {
      try {
        const message = this.#messages.readMessage()
        if (message === null) return
        this.onmessage?.(message)
      } catch (error) {
        // The line was no message. The next one may be.
        this.onerror?.(error as Error)
      }
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#running?.child.stdin
    if (!stdin) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    await new Promise<void>((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()))
    })
  }

  async close(): Promise<void> {
    const running = this.#release()
    running?.child.stdin?.end()
    if (running && !(await within(running.closed, GRACE_MS))) await stop(running, GRACE_MS)
  }

  async _dispose(): Promise<void> {
    const running = this.#release()
    if (running) await stop(running, PROBE_GRACE_MS)
  }

  #release(): Running | undefined {
    const running = this.#running
    this.#running = undefined
    this.#messages.clear()
    return running
  }
}

interface Running {
  readonly child: ChildProcess
  /** Resolves when the process has exited and its streams are closed. */
  readonly closed: Promise<void>
}

async function stop({ child, closed }: Running, graceMs: number): Promise<void> {
  killGroup(child, 'SIGTERM')
  if (await within(closed, graceMs)) return
  killGroup(child)
  // A process that left the group may hold them open.
  for (const stream of child.stdio) stream?.destroy()
  await within(closed, graceMs)
}

/** False if it has not happened after that time. */
function within(event: Promise<void>, timeMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, timeMs, false).unref()
    void event.then(() => {
      clearTimeout(late)
      resolve(true)
    })
  })
}
