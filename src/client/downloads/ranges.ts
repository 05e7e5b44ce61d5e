/** Bytes at an address, resumed with `Range` after a lost connection as long as they are the same bytes. */
import type { Calling } from '../calling.ts'
import { CallFault } from '../fault.ts'
import { bytesOf } from '../http/body.ts'
import { isLost } from '../judge.ts'
import type { ResultLocation } from '../options.ts'
import type { Fetcher } from '../transport.ts'
import { persist } from './persist.ts'

export interface Ranged {
  readonly mimeType: string
  pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>>
}

/** Resolves when the first response has come, so that its type is known. */
export async function readRanges(
  calling: Calling,
  fetcher: Fetcher,
  { uri, auth }: ResultLocation,
  signal: AbortSignal | undefined,
): Promise<Ranged> {
  const address = fetcher.resolve(uri)
  const authorization =
    auth && `${auth.credentialType === 'bearer' ? 'Bearer' : auth.credentialType} ${auth.credential}`
  const open = (from: number, tag: string | null) =>
    persist(
      calling,
      async () => {
        const range = from > 0 ? { range: `bytes=${from}-`, ...(tag !== null && { 'if-range': tag }) } : {}
        const response = await fetcher.fetch(address, {
          headers: range,
          signal,
          ...(authorization !== undefined && { authorization }),
        })
        if (response.ok) return response
        await response.body?.cancel()
        throw unreadable(`the address responded with ${response.status}`, response.status)
      },
      signal,
    )
  let first: Response | undefined = await open(0, null)
  const mimeType = first.headers.get('content-type') ?? 'application/octet-stream'
  async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let response = first ?? (await open(0, null))
    first = undefined
    const tag = strongTag(response)
    const length = response.headers.get('content-encoding') === null ? response.headers.get('content-length') : null
    const total = length === null ? undefined : Number(length)
    let offset = 0
    for (;;) {
      try {
        for await (const piece of bytesOf(response, signal)) {
          offset += piece.byteLength
          yield piece
        }
        if (total === undefined || offset >= total) return
      } catch (thrown) {
        if (tag === null || !isLost(thrown)) throw thrown
      }
      // The rest is the same bytes only if the server says so by its tag.
      if (tag === null) throw unreadable(`it ended after ${offset} of ${total} bytes`)
      response = await open(offset, tag)
      if (response.status !== 206) throw unreadable('it changed while it was read')
    }
  }
  return { mimeType, pieces }
}

function strongTag({ headers }: Response): string | null {
  const tag = headers.get('etag')
  return tag?.startsWith('"') ? tag : null
}

function unreadable(why: string, status?: number): CallFault {
  return new CallFault('RESULT_UNREADABLE', `The result cannot be read: ${why}.`, {
    outcome: 'failed',
    ...(status !== undefined && { status }),
  })
}
