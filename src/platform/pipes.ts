/**
 * Opens real pipes for a program's output. Node's own are sockets, and a program cannot open a socket by its name:
 * `echo hello > /dev/stdout` fails.
 */
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OutputPipes, runProgram } from './processes.ts'

const MKFIFO_MS = 10_000

export async function openOutputPipes(): Promise<OutputPipes> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-pipes-'))
  try {
    const paths = [join(folder, 'stdout'), join(folder, 'stderr')] as const
    await makeFifos(paths)
    return openFifos(paths)
  } finally {
    // Open pipes need no name.
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Every user may open them, because the program may write as another user than the server. Other programs cannot reach
 * them: the folder is private, and the names are removed before the program starts.
 */
async function makeFifos(paths: readonly string[]): Promise<void> {
  const program = { file: 'mkfifo', args: ['-m', '666', ...paths], maxBytes: 1_000 }
  const { exitCode, stderr } = await runProgram(program, { timeoutMs: MKFIFO_MS })
  if (exitCode !== 0) throw new Error(`mkfifo failed with exit code ${exitCode}: ${stderr}`)
}

function openFifos([stdout, stderr]: readonly [string, string]): OutputPipes {
  const opened: number[] = []
  const open = (path: string, flags: number) => {
    const descriptor = openSync(path, flags)
    opened.push(descriptor)
    return descriptor
  }
  try {
    // The reading end comes first and does not wait for a writer. A writing end would wait for a reader.
    const reading = [stdout, stderr].map((path) => open(path, constants.O_RDONLY | constants.O_NONBLOCK))
    const ends = [open(stdout, constants.O_WRONLY), open(stderr, constants.O_WRONLY)] as const
    const [output, errors] = reading.map((fd) => new Socket({ fd, readable: true, writable: false }))
    return { ends, stdout: output as Socket, stderr: errors as Socket, closeEnds: () => ends.forEach(closeSync) }
  } catch (error) {
    opened.forEach(closeSync)
    throw error
  }
}
