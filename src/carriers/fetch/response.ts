/** Turns an answer of a protocol into a Fetch response. */
import type { Answer } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'

/** The parts of the request that sending a response needs. */
interface Asking {
  readonly method: string
  leave(): void
}

/** Throws if the headers cannot be sent. `extra` is name, value, name, value. */
export function toResponse(asking: Asking, answer: Answer, extra: readonly string[], log: Log | undefined): Response {
  const { status, body } = answer
  const headers = new Headers(answer.headers)
  for (let at = 0; at + 1 < extra.length; at += 2) headers.append(extra[at] as string, extra[at + 1] as string)
  const bodiless = status === 204 || status === 304
  if (isIterable(body)) {
    const iterator = body[Symbol.asyncIterator]()
    if (asking.method === 'HEAD' || bodiless) {
      abandon(iterator, log)
      return new Response(null, { status, headers })
    }
    const length = headers.get('content-length')
    return new Response(streamOf(iterator, length === null ? undefined : Number(length), asking, log), {
      status,
      headers,
    })
  }
  // As bytes, because a Response adds its own content type to a text.
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  if (!bodiless) headers.set('Content-Length', String(bytes?.length ?? 0))
  const empty = bodiless || asking.method === 'HEAD' || bytes === undefined
  return new Response(empty ? null : (bytes as Uint8Array<ArrayBuffer>), { status, headers })
}

function isIterable(body: Answer['body']): body is AsyncIterable<Uint8Array | string> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/** Reads the source only on demand. A source whose length differs from the stated one aborts the response. */
function streamOf(
  iterator: AsyncIterator<Uint8Array | string>,
  length: number | undefined,
  asking: Asking,
  log: Log | undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let sent = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const step = await iterator.next()
          if (step.done) {
            if (length !== undefined && sent !== length) throw wrongLength(length, sent)
            controller.close()
            return
          }
          const bytes = typeof step.value === 'string' ? encoder.encode(step.value) : step.value
          sent += bytes.length
          if (length !== undefined && sent > length) throw wrongLength(length, sent)
          controller.enqueue(bytes)
        } catch (error) {
          log?.error({ err: error }, 'a response failed while it was being sent')
          abandon(iterator, log)
          // Without the reason, which is not for the client.
          controller.error(new TypeError('The response is incomplete.'))
        }
      },
      cancel() {
        asking.leave()
        abandon(iterator, log)
      },
    },
    { highWaterMark: 0 },
  )
}

function wrongLength(stated: number, sent: number): Error {
  return new Error(`The source of a response returned ${sent} bytes instead of the stated ${stated}.`)
}

function abandon(iterator: AsyncIterator<unknown>, log: Log | undefined): void {
  Promise.resolve(iterator.return?.()).catch((error: unknown) => {
    log?.warn({ err: error }, 'could not close the source of a response')
  })
}
