/**
 * Chooses the transport and the encoding of a stream: the first of the caller's preferences that the operation and the
 * server have.
 */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { transportsFor } from '../../core/operation/stream.ts'
import type { StreamTransport, StreamTransports, StreamWish } from '../../core/ports/frames.ts'

export function chooseTransport(operation: Operation, wish: StreamWish, transports: StreamTransports): StreamTransport {
  const { own } = wish
  const { stream } = operation
  // Audio and video need a transport with media tracks.
  const carries = (transport: StreamTransport | undefined) => !stream?.track || transport?.tracks === true
  const known = stream ? transportsFor(stream, transports.names()) : []
  const offered = known.filter((name) => carries(transports.get(name)))
  if (!wish.transports && own && carries(own) && (stream?.transports?.includes(own.name) ?? true)) return own
  const name = (wish.transports ?? offered).find((wanted) => offered.includes(wanted))
  const transport = name === undefined ? undefined : transports.get(name)
  if (transport) return transport
  throw unsupported(operation, 'transport', wish.transports, offered)
}

export function chooseEncoding(operation: Operation, { encodings }: StreamWish): string {
  const offered = operation.stream?.encodings ?? []
  const encoding = (encodings ?? offered).find((wanted) => offered.includes(wanted))
  if (encoding !== undefined) return encoding
  throw unsupported(operation, 'encoding', encodings, offered)
}

function unsupported(
  { name }: Operation,
  what: 'transport' | 'encoding',
  wanted: readonly string[] | undefined,
  offered: readonly string[],
): Fault {
  const asked = wanted ? `none of ${wanted.join(', ')}` : `no ${what}`
  const message =
    offered.length > 0
      ? `${name.full} offers ${asked} on this server. Use one of ${offered.join(', ')}.`
      : `${name.full} has no ${what} on this server. Ask its operator to switch one on.`
  return new Fault('invalid-input', message, {
    code: `UNSUPPORTED_${what.toUpperCase()}`,
    details: { offered: [...offered] },
  })
}
