/** Reads the parts of a multipart request body from the socket. */
import type { Part, PartLimits } from '../../core/ports/exchange.ts'
import { readPacedParts, type UploadPace } from '../../wire/http/paced-parts.ts'
import { type BodyHolder, BodyReader, openBody } from './body.ts'

export async function* readParts(holder: BodyHolder, limits: PartLimits, pace: UploadPace): AsyncGenerator<Part> {
  openBody(holder)
  const { request } = holder
  const reader = new BodyReader(request)
  try {
    yield* readPacedParts(request.headers['content-type'] ?? '', (waitMs) => reader.next(waitMs), limits, pace)
  } finally {
    // The unread rest of the body stays on the socket. The response then closes the connection.
    reader.release()
  }
}
