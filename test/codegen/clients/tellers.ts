/** Programs that use a generated client: each does what a test wishes and prints what came of it, in the same words. */
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Catalogue } from '../../../src/codegen/catalogue.ts'
import { generateGo } from '../../../src/codegen/go/generate.ts'
import { generatePython } from '../../../src/codegen/python/generate.ts'
import { PYTHON } from '../../engines/engines.ts'
import { type Command, spawnTied, spawnTiedReader } from '../../engines/tied-process.ts'

export interface Wish {
  do: 'call' | 'start' | 'resume' | 'stream' | 'registry'
  op?: string
  /** Of the call to resume. */
  id?: string
  args?: object
  /** What to do with a run: words of progress, cancel, result, content. */
  next?: string
  /** Leave a stream after this many frames. */
  take?: number
  reconnect?: boolean
  /** Call this operation in the same session after the first frame of the stream. */
  command?: string
  timeoutMs?: number
  idempotencyKey?: string
  requestId?: string
  sessionId?: string
  media?: Record<string, { text: string; type: string; name: string }>
}

export interface Setup {
  /** Several tokens are those that a source returns, one after the other. */
  token?: string | string[]
  trusted?: string[]
  retries?: number
}

/** What a program printed of one wish. Other members are compared as a whole. */
export interface Told {
  id?: string
  frames?: unknown[]
  operations?: unknown[]
  progress?: unknown[]
}

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

export interface Teller {
  /** A client of its own for these wishes. */
  tell(url: string, wishes: readonly Wish[], setup?: Setup): Promise<Told[]>
  /** Ends the program, and returns what it wrote to standard error. */
  end(): Promise<string>
}

const HERE = import.meta.dirname

export async function run(command: Command): Promise<Finished> {
  const child = spawnTied(command)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, stdout, stderr }
}

/** Starts a program that takes a line for each story. One program for all of them saves its start. */
function startTeller(command: Command): Teller {
  const child = spawnTiedReader(command)
  const complaints = text(child.stderr)
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async tell(url, wishes, setup = {}) {
      child.stdin.write(`${JSON.stringify([url, setup, wishes])}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`The client ended (${(await ended).join()}):\n${await complaints}`)
      return JSON.parse(value) as Told[]
    },
    async end() {
      child.stdin.end()
      await ended
      return complaints
    },
  }
}

/** A folder with generated code. It is not removed with a single test, because all tests of a file use it. */
export async function workFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'callplane-generated-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** A folder that is removed with the test. */
export async function temporaryWork(): Promise<string> {
  const { path, remove } = await workFolder()
  onTestFinished(remove)
  return path
}

/** Both programs start after the files are written: a program that reads a file while it is written again sees no text. */
export async function pythonTellers(folder: string, catalogue: Catalogue): Promise<Record<'sync' | 'async', Teller>> {
  await writePython(folder, catalogue)
  await copyFile(join(HERE, 'teller.py'), join(folder, 'teller.py'))
  const start = (flavour: 'sync' | 'async') =>
    startTeller([PYTHON, '-B', '-W', 'always::ResourceWarning', join(folder, 'teller.py'), `--${flavour}`])
  return { sync: start('sync'), async: start('async') }
}

export async function goTeller(folder: string, catalogue: Catalogue): Promise<Teller> {
  await writeGo(folder, catalogue)
  await copyFile(join(HERE, 'teller.go'), join(folder, 'teller.go'))
  const program = join(folder, 'teller')
  const built = await go(folder, 'build', '-o', program, '.')
  if (built.code !== 0) throw new Error(built.stderr)
  return startTeller([program])
}

export async function writePython(folder: string, catalogue: Catalogue): Promise<void> {
  await writeFile(join(folder, 'callplane_client.py'), generatePython(catalogue).text)
}

/** A module with the generated package, without anything to download. */
export async function writeGo(folder: string, catalogue: Catalogue): Promise<void> {
  await mkdir(join(folder, 'callplane'), { recursive: true })
  await writeFile(join(folder, 'go.mod'), 'module example\n\ngo 1.19\n')
  await writeFile(join(folder, 'callplane/callplane.go'), generateGo(catalogue).text)
}

/** Without `go -C`, which Debian's version does not have. */
export function go(folder: string, ...args: string[]): Promise<Finished> {
  const settings = ['CGO_ENABLED=0', 'GOPROXY=off', 'GOTOOLCHAIN=local', 'GOFLAGS=-mod=mod']
  return run(['env', '-C', folder, ...settings, 'go', ...args])
}
