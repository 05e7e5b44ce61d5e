/** Follows a call to its end: by server-sent events where the server has them, else by polls that wait. */
import { Fault } from '../../core/fault.ts'
import { EventDecoder, isEventStream } from '../../wire/http/event-stream.ts'
import type { Envelope, Remote } from './remote.ts'

const WAIT_SECONDS = 30
const POLL_AGAIN_MS = 250
/** A result that is part of an event; a call with a longer one is followed by polls. */
const MAX_EVENT = 64 * 1024 * 1024

export function isOver({ state }: Envelope): boolean {
  return state === 'complete' || state === 'error'
}

/** `address` is the one a poll goes to. */
export async function follow(remote: Remote, address: string, onChange: (now: Envelope) => void): Promise<Envelope> {
  const last = await followEvents(remote, address, onChange)
  // An event tells that there is a result elsewhere; a poll tells where.
  if (last && (last.result !== undefined || last.error !== undefined)) return last
  return followPolls(remote, address, onChange)
}

/** Nothing, if the server offers no events or the stream broke off: a poll then shows how things stand. */
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
    // A stream that broke off is no failure of the call. But whoever interrupts wants no poll either.
    if (remote.interrupted) throw thrown
  }
  return undefined
}

async function followPolls(remote: Remote, address: string, onChange: (now: Envelope) => void): Promise<Envelope> {
  for (;;) {
    const { status, envelope } = await remote.ask(address, { headers: { Prefer: `wait=${WAIT_SECONDS}` } })
    // A poll of a call that ended in error is a 200; what else is refused was the poll itself.
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
