/** Follows a call to its end: by server-sent events if the server offers them, otherwise by long polls. */
import { Fault } from '../../core/fault.ts'
import { EventDecoder, isEventStream } from '../../wire/http/event-stream.ts'
import type { Envelope, Remote } from './remote.ts'

const WAIT_SECONDS = 30
const POLL_AGAIN_MS = 250
/** The largest event that is read. A call with a larger result is followed by polls. */
const MAX_EVENT = 64 * 1024 * 1024

export function isOver({ state }: Envelope): boolean {
  return state === 'complete' || state === 'error'
}

/** `address` is the poll address of the call. */
export async function follow(remote: Remote, address: string, onChange: (now: Envelope) => void): Promise<Envelope> {
  const last = await followEvents(remote, address, onChange)
  // An event says only that the result is elsewhere; a poll gives its address.
  if (last && (last.result !== undefined || last.error !== undefined)) return last
  return followPolls(remote, address, onChange)
}

/**
 * Returns `undefined` if the server offers no events or the stream ended early. A poll then gives the current state.
 */
async function followEvents(
  remote: Remote,
  address: string,
  onChange: (now: Envelope) => void,
): Promise<Envelope | undefined> {
  const response = await remote.fetch(`${address}/events`, { headers: { Accept: 'text/event-stream' } })
  if (response.status !== 200 || !isEventStream(response.headers.get('content-type')) || !response.body) {
    await response.body?.cancel()
    return undefined
  }
  try {
    const decoder = new EventDecoder({ maxLength: MAX_EVENT })
    for await (const piece of response.body) {
      for (const { data } of decoder.push(piece)) {
        const now = JSON.parse(data) as Envelope
        onChange(now)
        if (isOver(now)) return now
      }
    }
  } catch (thrown) {
    // A broken stream does not mean that the call failed. After an interrupt, no poll is wanted either.
    if (remote.interrupted) throw thrown
  }
  return undefined
}

async function followPolls(remote: Remote, address: string, onChange: (now: Envelope) => void): Promise<Envelope> {
  for (;;) {
    const { status, envelope } = await remote.ask(address, { headers: { Prefer: `wait=${WAIT_SECONDS}` } })
    // A poll of a call that ended in error returns 200, so any other error status refuses the poll itself.
    if (status >= 400 && status !== 429) throw pollRefused(address, envelope)
    if (status < 400) {
      onChange(envelope)
      if (isOver(envelope)) return envelope
    }
    await remote.wait(envelope.retryAfterMs ?? POLL_AGAIN_MS)
  }
}

function pollRefused(address: string, { error }: Envelope): Fault {
  return new Fault('upstream', `${address} cannot be followed: ${error?.message ?? 'no reason was given'}`, {
    code: 'POLL_REFUSED',
  })
}
