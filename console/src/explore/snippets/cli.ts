/** The command line of Callplane. */
import { isKeyed } from '../wires/opencall.ts'
import { plainJson, shellQuoted } from './quoting.ts'
import type { Snippet } from './snippet.ts'

export const cli: Snippet = {
  id: 'cli',
  title: 'CLI',
  write({ entry, argsText, url, files, idempotencyKey }) {
    const json = plainJson(argsText)
    return [
      `npx callplane call ${shellQuoted(entry.op)}`,
      `--url ${shellQuoted(url)}`,
      ...(json === '{}' ? [] : [`--args ${shellQuoted(json)}`]),
      ...files.map(({ name, path, mimeType }) => `--file ${shellQuoted(`${name}=${path};type=${mimeType}`)}`),
      ...(isKeyed(entry) ? [`--idempotency-key ${shellQuoted(idempotencyKey)}`] : []),
      ...(entry.executionModel === 'sync' && !entry.chunked ? [] : ['--follow']),
    ].join(' \\\n  ')
  },
}
