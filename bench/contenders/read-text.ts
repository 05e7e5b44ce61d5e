/** Reads a request body as text. Frameworks that get this text are faster than with their own body reader. */
import type { IncomingMessage } from 'node:http'

const MAX_BYTES = 1 << 20

export function readText(request: IncomingMessage, then: (text: string) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_BYTES) request.destroy()
    else chunks.push(chunk)
  })
  request.on('end', () =>
    then(chunks.length === 1 ? (chunks[0] as Buffer).toString() : Buffer.concat(chunks).toString()),
  )
}
