/** A command of curl. */
import { envelopeOf } from './envelope.ts'
import { shellQuoted } from './quoting.ts'
import type { Snippet, SnippetCall } from './snippet.ts'

export const curl: Snippet = {
  id: 'curl',
  title: 'curl',
  write(call) {
    if (call.entry.executionModel === 'stream') return stream(call)
    return [start(call), ...bodyOf(call)].join(' \\\n  ')
  },
}

function start({ url }: SnippetCall): string {
  return `curl -sS ${shellQuoted(`${url}/call`)}`
}

function bodyOf(call: SnippetCall): string[] {
  const { entry, withToken, files } = call
  const waiting = entry.executionModel === 'async' ? ["-H 'Prefer: wait=60'"] : []
  const token = withToken ? ['-H "Authorization: Bearer $CALLPLANE_TOKEN"'] : []
  if (files.length === 0) {
    const json = ["-H 'Content-Type: application/json'", `--data-binary ${shellQuoted(envelopeOf(call))}`]
    return [...waiting, ...token, ...json]
  }
  // --form-string takes the text as it is, while -F would read `;` and `@` in it.
  return [
    ...waiting,
    ...token,
    `--form-string ${shellQuoted(`envelope=${envelopeOf(call)}`)}`,
    ...files.map(({ name, path, mimeType }) => `-F ${shellQuoted(`${name}=@"${escapePath(path)}";type=${mimeType}`)}`),
  ]
}

function escapePath(path: string): string {
  return path.replaceAll(/["\\]/g, '\\$&')
}

/** Subscribes, and reads the frames where the response says. They are events at the same place as a WebSocket. */
function stream(call: SnippetCall): string {
  const field = (name: string, then = '') => `$(printf %s "$stream" | sed 's/.*"${name}":"\\([^"]*\\)".*/\\1/${then}')`
  const subscribe = [start(call), ...bodyOf(call)].join(' \\\n  ')
  return [
    `stream=$(${subscribe})`,
    `curl -sSN "${field('location', ';s/^ws/http/')}" \\`,
    `  -H 'Accept: text/event-stream' \\`,
    `  -H "Authorization: OTK ${field('credential')}"`,
  ].join('\n')
}
