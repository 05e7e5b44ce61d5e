/** Reads the frames of a stream as server-sent events: every browser and every proxy lets those pass. */
import { EventReader, isEventStream } from '../../../../src/wire/http/event-reader.ts'
import type { Server } from '../../api/server.ts'
import type { StreamPlace } from '../wires/wire.ts'

const MAX_FRAME = 64 * 1024 * 1024

export type StreamEnd = { state: 'complete' } | { state: 'error'; code?: string; message: string } | { state: 'broken' }

export async function readFrames(
  server: Server,
  place: StreamPlace,
  onFrame: (text: string) => void,
  signal: AbortSignal,
): Promise<StreamEnd> {
  const response = await fetch(addressOf(server, place), {
    headers: { accept: 'text/event-stream', ...(place.auth && { authorization: `OTK ${place.auth.credential}` }) },
    signal,
  })
  if (!response.ok || !isEventStream(response.headers.get('content-type'))) return refusal(await response.text())
  const events = new EventReader({ maxLength: MAX_FRAME, tooLong: () => new RangeError('The frame is too large.') })
  const reader = response.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || !value) return { state: 'broken' }
    for (const { event, data } of events.push(value)) {
      if (event === 'frame') onFrame(data)
      else if (event === 'end') return endIn(data)
    }
  }
}

/** The same path at the page's own address: the policy of the page allows no other. */
function addressOf({ base }: Server, { location }: StreamPlace): string {
  const { pathname, search } = new URL(location, base)
  return `${base}${pathname.slice(pathname.lastIndexOf('/streams/'))}${search}`
}

function refusal(text: string): StreamEnd {
  const { error } = parse(text) as { error?: { code: string; message: string } }
  return { state: 'error', ...(error && { code: error.code }), message: error?.message ?? text.slice(0, 500) }
}

function endIn(data: string): StreamEnd {
  const { state, error } = parse(data) as { state?: string; error?: { code: string; message: string } }
  if (state !== 'error') return { state: 'complete' }
  return { state: 'error', ...(error && { code: error.code }), message: error?.message ?? '' }
}

function parse(text: string): object {
  try {
    return (JSON.parse(text) as object | null) ?? {}
  } catch {
    return {}
  }
}
