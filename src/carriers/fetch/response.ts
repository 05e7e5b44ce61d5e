/** An answer as a Fetch response. */
import type { Answer } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'

/** What sending an answer needs to know of its request. */
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
  // As bytes, because a response adds a content type of its own to a text.
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  if (!bodiless) headers.set('Content-Length', String(bytes?.length ?? 0))
  const empty = bodiless || asking.method === 'HEAD' || bytes === undefined
  return new Response(empty ? null : (bytes as Uint8Array<ArrayBuffer>), { status, headers })
}

function isIterable(body: Answer['body']): body is AsyncIterable<Uint8Array | string> {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/** Nothing is taken from the source before it is asked for; a source that breaks the stated length breaks the answer. */
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
          log?.error({ err: error }, 'An answer broke off while it was being sent.')
          abandon(iterator, log)
          // Without the reason: what breaks off is not the reader's to explain.
          controller.error(new TypeError('The answer broke off.'))
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
  return new Error(`The source of an answer gave ${sent} bytes where ${stated} were stated.`)
}

function abandon(iterator: AsyncIterator<unknown>, log: Log | undefined): void {
  Promise.resolve(iterator.return?.()).catch((error: unknown) => {
    log?.warn({ err: error }, 'The source of an answer failed while it was being given up.')
  })
}
