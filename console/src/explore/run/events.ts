/** Follows a call by the server's events, without polling. A connection that breaks is opened again. */
import { EventReader, isEventStream } from '../../../../src/wire/http/event-reader.ts'
import type { Server } from '../../api/server.ts'

const MAX_EVENT = 256 * 1024 * 1024
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 5_000
/** The server sends a heartbeat more often. A connection that is silent for longer is lost. */
const SILENT_MS = 45_000

export interface Following {
  signal: AbortSignal
  /** Returns true if this was the last one. */
  onEnvelope(text: string): boolean
  /** The connection broke, and is tried again. */
  onLost(): void
}

/** Resolves when the call has ended. Rejects if the server no longer knows it. */
export async function followCall(server: Server, requestId: string, following: Following): Promise<void> {
  const { signal } = following
  const path = `/ops/${encodeURIComponent(requestId)}/events`
  let waitMs = FIRST_WAIT_MS
  for (;;) {
    try {
      const response = await server.fetch(path, { headers: { accept: 'text/event-stream' }, signal })
      if (!response.ok || !isEventStream(response.headers.get('content-type'))) {
        following.onEnvelope(await response.text())
        return
      }
      waitMs = FIRST_WAIT_MS
      if (await read(response, following)) return
    } catch (thrown) {
      if (signal.aborted) throw thrown
    }
    following.onLost()
    await pause(waitMs, signal)
    waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)
  }
}

async function read(response: Response, { onEnvelope }: Following): Promise<boolean> {
  const events = new EventReader({ maxLength: MAX_EVENT, tooLong: () => new RangeError('The event is too large.') })
  const reader = response.body?.getReader()
  const giveUp = () => void reader?.cancel().catch(() => undefined)
  for (;;) {
    const timer = setTimeout(giveUp, SILENT_MS)
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    clearTimeout(timer)
    if (done || !value) return false
    for (const { data } of events.push(value)) {
      if (!onEnvelope(data)) continue
      await reader?.cancel()
      return true
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        reject(signal.reason)
      },
      { once: true },
    )
  })
}
