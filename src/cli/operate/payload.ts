/** Reads the arguments or the outcome of a call, in slices. The server notes each slice in its audit trail. */
import { Fault } from '../../core/fault.ts'
import { administer } from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'

/** The most bytes of one slice. */
const SLICE = 262_144
/** The fewest. */
const LEAST = 4

export interface Payload {
  /** JSON, or the beginning of it. */
  text: string
  /** Of the whole payload. */
  bytes: number
  isWhole: boolean
  /** JSON pointers of values that the server does not show. */
  redactions: string[]
}

/** Reads about `maxBytes` at most. `undefined` if the call has no such part. */
export async function readPayload(
  server: Remote,
  id: string,
  part: 'args' | 'result' | 'error',
  maxBytes: number,
): Promise<Payload | undefined> {
  const slices: string[] = []
  for (let offset = 0; ; ) {
    const wanted = { id, part, offset, bytes: Math.max(LEAST, Math.min(SLICE, maxBytes - offset)) }
    const slice = await sliceOf(server, wanted)
    if (!slice) return undefined
    const { text, bytes, redactions } = slice
    slices.push(String(text))
    const end = offset + Buffer.byteLength(String(text))
    const isWhole = slice.complete === true
    // A server that sends nothing more would be asked for ever.
    if (isWhole || end >= maxBytes || end === offset) {
      const hidden = Array.isArray(redactions) ? redactions.map(String) : []
      return { text: slices.join(''), bytes: Number(bytes), isWhole, redactions: hidden }
    }
    offset = end
  }
}

async function sliceOf(server: Remote, args: { id: string; part: string; offset: number; bytes: number }) {
  try {
    const wanted = { action: 'see arguments and results', scope: 'callplane:payloads' }
    return await administer(server, 'calls.payload', args, wanted)
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'NOT_FOUND') return undefined
    throw thrown
  }
}
