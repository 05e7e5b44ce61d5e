/**
 * Sessions whose messages are CBOR. It translates between CBOR on the socket and the JSON of the session. Four zero bytes
 * are before every message, where frames have the number of their channel.
 */
import { Fault } from '../../core/fault.ts'
import type { Message, OpenSession, Session } from '../../core/ports/session.ts'
import { decodeCbor } from '../../wire/cbor/decode.ts'
import { encodeCbor } from '../../wire/cbor/encode.ts'
import { isLargerThan, messageTooLarge } from '../../wire/messages/text.ts'

const PREFIX_BYTES = 4

/** `maxBytes` also limits the JSON that a message becomes. */
export function cborSessions(open: OpenSession, maxBytes: number): OpenSession {
  return (connection) => {
    const { peer, origin, frames, subject, lossy, identified, replyTo } = connection
    const session = open({
      peer,
      origin,
      frames,
      subject,
      lossy,
      identified,
      replyTo,
      get signal() {
        return connection.signal
      },
      send: (message, about) => connection.send(encodeMessage(message), about),
      flushed: () => connection.flushed?.() ?? true,
    })
    return translated(session, maxBytes)
  }
}

function translated(session: Session, maxBytes: number): Session {
  return {
    receive(message) {
      try {
        const text = JSON.stringify(decodeMessage(message))
        if (isLargerThan(text, maxBytes)) throw messageTooLarge(maxBytes)
        return session.receive(text)
      } catch (thrown) {
        return session.refuse(Fault.from(thrown))
      }
    },
    refuse: (fault) => session.refuse(fault),
    finish: () => session.finish(),
    close: () => session.close(),
  }
}

function encodeMessage(message: Message): Uint8Array {
  const text = typeof message === 'string' ? message : new TextDecoder().decode(message)
  return encodeCbor(JSON.parse(text), PREFIX_BYTES)
}

function decodeMessage(message: Message) {
  const bytes = typeof message === 'string' ? undefined : message
  if (!bytes || bytes.length < PREFIX_BYTES || bytes.subarray(0, PREFIX_BYTES).some((byte) => byte !== 0)) {
    const text = 'Send every message of a CBOR session as binary: four zero bytes, and the envelope in CBOR.'
    throw new Fault('malformed', text, { code: 'INVALID_CBOR' })
  }
  return decodeCbor(bytes.subarray(PREFIX_BYTES))
}
