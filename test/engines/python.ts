/** Python scripts of the repository, run with the clients that `npm run engines` installs. */
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PYTHON } from './engines.ts'
import { spawnTied } from './tied-process.ts'

const root = join(import.meta.dirname, '../..')

/**
 * Runs a script, named by its path from the root of the repository, and resolves with its standard output. Rejects with
 * its standard error if it fails, and kills it when the signal aborts.
 */
export async function python(
  script: string,
  args: readonly string[] = [],
  signal?: AbortSignal,
  program = PYTHON,
): Promise<string> {
  signal?.throwIfAborted()
  // -B: no __pycache__ folders among the sources.
  const child = spawnTied([program, '-B', join(root, script), ...args])
  const kill = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', kill)
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  signal?.removeEventListener('abort', kill)
  signal?.throwIfAborted()
  if (code !== 0) throw new Error(`${script} ended with ${code}:\n${errors}`)
  return output
}
