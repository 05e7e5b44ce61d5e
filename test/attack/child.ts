/** Runs a server in a child process, so that a hang or crash fails one test and not the whole suite. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface Child {
  readonly url: string
  post(path: string, body: unknown): Promise<{ status: number; json: unknown }>
  /** Returns the CPU time in milliseconds that the child spends on this work. */
  costOf(work: () => Promise<unknown>): Promise<number>
  /** Returns the child's peak memory in MB. */
  peakMb(): Promise<number>
  stop(): Promise<void>
}

/** No request here should take a second. A child that is silent for longer than this counts as hung. */
const KILL_AFTER_MS = 30_000
const HEAP_MB = 400

interface Readings {
  cpu: NodeJS.CpuUsage
  rss: number
}

export async function startChild(script: string): Promise<Child> {
  const child = fork(join(import.meta.dirname, script), {
    execArgv: ['--conditions=callplane-source', `--max-old-space-size=${HEAP_MB}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [{ url }] = (await answer(child)) as [{ url: string }]

  async function read(): Promise<Readings> {
    const answered = answer(child)
    child.send('readings')
    return (await answered)[0] as Readings
  }

  return {
    url,
    async post(path, body) {
      const signal = AbortSignal.timeout(KILL_AFTER_MS)
      signal.addEventListener('abort', () => child.kill('SIGKILL'))
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        signal,
      })
      return { status: response.status, json: await response.json() }
    },
    async costOf(work) {
      const before = await read()
      await work()
      const after = await read()
      return (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1000
    },
    peakMb: async () => (await read()).rss / 1024,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

/** Resolves with the child's next message. Rejects if the child exits first. */
function answer(child: ChildProcess): Promise<unknown[]> {
  const gone = new AbortController()
  const died = once(child, 'exit', { signal: gone.signal }).then(([code, signal]) => {
    throw new Error(`the server ended by ${signal ?? `code ${code}`}`)
  })
  return Promise.race([once(child, 'message'), died]).finally(() => {
    died.catch(() => undefined)
    gone.abort()
  }) as Promise<unknown[]>
}
