/** Removes secrets from bytes that arrive in pieces: a secret may begin in one piece and end in a later one. */
import type { ByteRedactor } from '../../core/ports/runtime.ts'
import type { Search } from './search.ts'

const NOTHING = new Uint8Array()
const MAX_RUN = 1024

/** `search` is called at every step, because values may be added while the stream is open. */
export function createByteRedactor(search: () => Search | undefined, mark: string): ByteRedactor {
  const waiting: Uint8Array[] = []
  /** Searched bytes that are held back, because a secret may begin in them. */
  let held = Buffer.alloc(0)
  /** The number of held bytes that belong to a secret whose mark was already written. */
  let covered = 0
  let waitingBytes = 0

  /** Returns everything except the last `keep` bytes. */
  function letOut(now: Search | undefined, keep: number): Uint8Array {
    const bytes = Buffer.concat([held, ...waiting])
    const text = bytes.toString('latin1')
    const cut = keep === 0 ? bytes.length : cutAt(text, Math.max(0, bytes.length - keep))
    const pieces: Uint8Array[] = []
    let done = covered
    for (const { start, end } of now?.find(text) ?? []) {
      const goesOn = covered > 0 && start <= done
      // A match that begins after the cut is found again, together with the bytes that follow.
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
      // Waits for as many new bytes as are searched again, so that the time is linear in the bytes even for small
      // pieces.
      return waitingBytes < keep ? NOTHING : letOut(now, keep)
    },
    end: () => letOut(search(), 0),
  }
}

/** Never cuts inside a run of backslashes: only from its first one can be seen which of them escapes the next. */
function cutAt(text: string, cut: number): number {
  let start = cut
  while (start > 0 && text[start - 1] === '\\') start--
  // A very long run is cut where an escape has ended at all three nesting levels.
  return cut - start > MAX_RUN ? cut - ((cut - start) % 8) : start
}
