/** Runs the command line as a user does: as a separate process, from the sources. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '../..')
export const QUICKSTART = join(root, 'examples/quickstart')
export const SOURCE = join(root, 'src/index.ts')

interface ProcessOptions {
  env?: Record<string, string>
  cwd?: string
  /** Another tree of the sources, such as that of an earlier version. */
  tree?: string
}

function start(args: readonly string[], { env, cwd = root, tree = root }: ProcessOptions): ChildProcess {
  const { PORT: _port, CALLPLANE_TOKEN: _token, CALLPLANE_URL: _url, CALLPLANE_DATA: _data, ...inherited } = process.env
  const main = join(tree, 'src/cli/main.ts')
  return spawn(process.execPath, ['--conditions=callplane-source', main, ...args], {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

export async function runProcess(args: readonly string[], options: ProcessOptions = {}): Promise<Finished> {
  const child = start(args, options)
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin?.end()
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'exit') as Promise<[number | null]>,
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
  ])
  return { code, stdout, stderr }
}

export interface Served {
  url: string
  /** The fields that the server logged when it began to listen. */
  started: Record<string, unknown>
  /** Signals the serving process, or the process that watches it. */
  kill(signal: NodeJS.Signals): void
  ended: Promise<number | null>
  /** Resolves when the same process starts its next server. */
  nextStart(): Promise<{ url: string }>
  /** Resolves with the next line on standard error that contains this text. */
  complaint(part: string): Promise<string>
}

/** Starts a server on a free port. It always ends with the test. */
export async function serveProcess(args: readonly string[], options: ProcessOptions = {}): Promise<Served> {
  const child = start(['serve', '--port', '0', ...args], options)
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const starts = new Lines(child.stdout as NodeJS.ReadableStream)
  const complaints = new Lines(child.stderr as NodeJS.ReadableStream)
  const nextStart = async () =>
    JSON.parse(await starts.next('"msg":"listening"')) as Record<string, unknown> & { url: string }
  const started = await nextStart()
  return {
    url: started.url,
    started,
    kill: (signal) => child.kill(signal),
    ended,
    nextStart,
    complaint: (part) => complaints.next(part),
  }
}

/** Lines of a stream. Lines that no test waits for yet are kept. */
class Lines {
  readonly #seen: string[] = []
  #wake = () => {}
  #over = false

  constructor(source: NodeJS.ReadableStream) {
    const lines = createInterface({ input: source })
    lines.on('line', (line) => {
      this.#seen.push(line)
      this.#wake()
    })
    lines.on('close', () => {
      this.#over = true
      this.#wake()
    })
  }

  async next(part: string): Promise<string> {
    const all: string[] = []
    for (;;) {
      const line = this.#seen.shift()
      if (line?.includes(part)) return line
      if (line !== undefined) all.push(line)
      else if (this.#over) throw new Error(`The process ended without a line that holds ${part}:\n${all.join('\n')}`)
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

/** Creates a folder that is removed with the test. */
export async function temporaryFolder(files: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  return folder
}

export async function callOver(url: string, op: string, args: object = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ op, args }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> & { requestId: string } }
}
