/** The worker's ends of pipes to other workers. The messages pass through the hub. */
import { randomUUID } from 'node:crypto'
import type { Pipe, PipeMessage, Pipes } from '../../core/ports/peers.ts'
import type { Channel } from '../../stores/hub/index.ts'

interface End {
  receiver: (message: PipeMessage) => void
  readonly closing: AbortController
}

export function createPipes(channel: Channel): Pipes {
  const here = randomUUID()
  const ends = new Map<number, End>()

  function createEnd(number: number): Pipe {
    const end: End = { receiver: () => {}, closing: new AbortController() }
    ends.set(number, end)
    return {
      signal: end.closing.signal,
      send(message) {
        if (!end.closing.signal.aborted) channel.tell('pipe', number, ...encode(message))
      },
      receive(receiver) {
        end.receiver = receiver
      },
      close() {
        if (!ends.has(number)) return
        channel.tell('pipe.close', number)
        closed(number)
      },
    }
  }

  function closed(number: number): void {
    const end = ends.get(number)
    ends.delete(number)
    end?.closing.abort()
  }

  channel.tell('pipe.here', here)
  channel.on('pipe', (number: number, ...message: Encoded) => ends.get(number)?.receiver(decode(message)))
  channel.on('pipe.close', closed)
  void channel.closed.then(() => {
    for (const number of [...ends.keys()]) closed(number)
  })
  return {
    here,
    // Created when the answer arrives: the next message may already close the pipe.
    open: (about, at) =>
      channel.ask('pipe.open', [about, at], (number: number | null) =>
        number === null ? undefined : createEnd(number),
      ),
    accept(accepts) {
      channel.on('pipe.accept', async (number: number, about: string) => {
        const pipe = createEnd(number)
        const accepted = await accepts(about, pipe)
        if (!accepted) ends.delete(number)
        return accepted
      })
    },
  }
}

/** The channel carries JSON, so bytes are sent as base64 with a mark behind. */
type Encoded = [message: string | object] | [bytes: string, mark: 1]

function encode(message: PipeMessage): Encoded {
  if (!(message instanceof Uint8Array)) return [message]
  return [Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString('base64'), 1]
}

function decode([message, mark]: Encoded): PipeMessage {
  return mark === 1 ? new Uint8Array(Buffer.from(message as string, 'base64')) : message
}
