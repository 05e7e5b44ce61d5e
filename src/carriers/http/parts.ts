/** The parts of a multipart request body, straight from the socket. */
import type { Part, PartLimits } from '../../core/exchange.ts'
import { parseMultipart } from '../../core/http/multipart.ts'
import { type BodyHolder, BodyReader, openBody } from './body.ts'

export async function* readParts(holder: BodyHolder, limits: PartLimits, idleTimeoutMs: number): AsyncGenerator<Part> {
  openBody(holder)
  const { request } = holder
  const reader = new BodyReader(request)
  try {
    yield* parseMultipart(request.headers['content-type'] ?? '', () => reader.next(idleTimeoutMs), limits)
  } finally {
    // A body that was not read to its end stays where it is; the answer then closes the connection.
    reader.release()
  }
}
