/** Takes secrets out of bytes that come piece by piece: a secret may begin in one piece and end in a later one. */
import type { ByteRedactor } from '../../core/ports/runtime.ts'
import type { Search } from './search.ts'

const NOTHING = new Uint8Array()
const MAX_RUN = 1024

/** `search` is asked for at every step: values may be added while the bytes are under way. */
export function createByteRedactor(search: () => Search | undefined, mark: string): ByteRedactor {
  const waiting: Uint8Array[] = []
  /** What was searched and is kept, because a secret may begin in it. */
  let held = Buffer.alloc(0)
  /** How many bytes of it belong to a secret whose mark is out already. */
  let covered = 0
  let waitingBytes = 0

  /** Lets out all but the last `keep` bytes. */
  function letOut(now: Search | undefined, keep: number): Uint8Array {
    const bytes = Buffer.concat([held, ...waiting])
    const text = bytes.toString('latin1')
    const cut = keep === 0 ? bytes.length : cutAt(text, Math.max(0, bytes.length - keep))
    const pieces: Uint8Array[] = []
    let done = covered
    for (const { start, end } of now?.find(text) ?? []) {
      const goesOn = covered > 0 && start <= done
      // What begins behind the cut is found again, together with what follows it.
      if (!goesOn && start >= cut) break
      if (!goesOn) pieces.push(bytes.subarray(done, start), Buffer.from(mark))
      done = Math.max(done, end)
    }
    if (done < cut) pieces.push(bytes.subarray(done, cut))
    covered = Math.max(0, done - cut)
    held = bytes.subarray(cut)
    waiting.length = 0
    waitingBytes = 0
    return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces)
  }

  return {
    push(bytes) {
      const now = search()
      if (!now && held.length + waitingBytes === 0) return bytes
      waiting.push(bytes)
      waitingBytes += bytes.length
      const keep = (now?.longest ?? 1) - 1
      // As much anew as is searched again: so the time is in proportion to the bytes, however small the pieces are.
      return waitingBytes < keep ? NOTHING : letOut(now, keep)
    },
    end: () => letOut(search(), 0),
  }
}

/** Not inside a run of backslashes: whether one of them escapes the next is known from the first one on. */
function cutAt(text: string, cut: number): number {
  let start = cut
  while (start > 0 && text[start - 1] === '\\') start--
  // An endless run is cut where three nested strings agree that an escape has ended.
  return cut - start > MAX_RUN ? cut - ((cut - start) % 8) : start
}
