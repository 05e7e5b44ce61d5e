/**
 * Messages over Kafka: a member of a consumer group reads the operations topic, and publishes what sessions send to the
 * topic of the replies. Each message has a session of its own, because a peer is known only by its reply address. The
 * carrier knows no protocol.
 */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Carrier } from '../../core/ports/carrier.ts'
import type { StreamTransport } from '../../core/ports/frames.ts'
import type { OpenSession } from '../../core/ports/session.ts'
import { Consuming } from './consuming.ts'
import { Deliveries } from './deliveries.ts'
import { describeError, isRefused } from './errors.ts'
import { createFrameTransport } from './frames.ts'
import { aborted } from './outbox.ts'
import { Publishing } from './publishing.ts'
import { away, Replies } from './replies.ts'
import type { KafkaSettings } from './settings.ts'
import { Topics } from './topics.ts'

export interface KafkaServing {
  open: OpenSession
  origin(): string
  /** Maximum size of one message. */
  maxBytes: number
}

export interface KafkaCounts {
  inFlight: number
  received: number
  published: number
  lost: number
  putAside: number
  frames: number
}

export interface Kafka {
  readonly transport: StreamTransport
  /** Publishes a reply to an address that was stored with its call. Resolves when the brokers have it. */
  sendLate(place: JsonObject, message: string, about: string, signal: AbortSignal): Promise<void>
  serve(serving: KafkaServing): Carrier
  state(): { connected: boolean; detail?: string }
  counts(): KafkaCounts
}

/** The carrier in the addresses that are stored with calls. */
export const NAME = 'kafka'

export function createKafka(settings: KafkaSettings): Kafka {
  const topics = new Topics(settings)
  const closing = new AbortController()
  const { log } = settings
  let publishing: Publishing | undefined
  let consuming: Consuming | undefined
  let replies: Replies | undefined
  let deliveries: Deliveries | undefined
  let frames = 0

  const transport = createFrameTransport(() => {
    if (!publishing) throw new Fault('unavailable', 'Kafka is not connected yet. Try again in a moment.')
    return { settings, topics, publishing, signal: closing.signal, framed: () => void frames++ }
  })

  function serve({ open, origin, maxBytes }: KafkaServing): Carrier {
    return {
      async listen() {
        await requireTopics()
        publishing = new Publishing(settings)
        replies = new Replies(settings, publishing)
        const limits = { maxBytes, maxInFlight: 1 }
        const { signal } = closing
        const taking = new Deliveries({ name: NAME, open, origin, transport, replies, limits, log, signal })
        deliveries = taking
        consuming = new Consuming({ settings, take: (message, done) => taking.take(message, done) })
        consuming.start()
      },
      async close(graceMs) {
        closing.abort()
        const cut = new AbortController()
        const timer = setTimeout(() => cut.abort(), graceMs)
        const stopping = consuming?.stop()
        await Promise.race([Promise.all([stopping, deliveries?.finish()]), aborted(cut.signal)])
        await deliveries?.close(cut.signal)
        // Before the last commit: an offset is committed when its replies are published.
        await publishing?.close(cut.signal)
        await stopping
        await consuming?.close()
        clearTimeout(timer)
      },
    }
  }

  /** If no broker answers, the server starts without Kafka and connects later. */
  async function requireTopics(): Promise<void> {
    const { operations, replies: answers, frames: shared, deadLetters } = settings.topics
    const needed = [
      operations,
      answers,
      ...(settings.framesShared ? [shared] : []),
      ...(deadLetters ? [deadLetters] : []),
    ]
    try {
      await Promise.all(needed.map((topic) => topics.require(topic)))
    } catch (thrown) {
      if (thrown instanceof Fault) throw thrown
      if (isRefused(thrown)) throw refused(thrown)
      log.warn({ reason: describeError(thrown) }, 'no Kafka broker answers; the server connects when one does')
    }
  }

  function trouble(): string | undefined {
    return consuming ? consuming.trouble : 'The server is starting.'
  }

  return {
    transport,
    serve,
    async sendLate(place, message, about, signal) {
      // A message that waits for the brokers would be sent twice if another server sends it meanwhile.
      const why = trouble()
      if (why !== undefined || !replies) throw away(why ?? '')
      await replies.sendLate(place, message, about, signal)
    },
    state() {
      const why = trouble()
      return why === undefined ? { connected: true } : { connected: false, detail: why }
    },
    counts: () => ({
      inFlight: consuming?.inFlight ?? 0,
      received: deliveries?.received ?? 0,
      published: publishing?.published ?? 0,
      lost: publishing?.lost ?? 0,
      putAside: replies?.putAside ?? 0,
      frames,
    }),
  }
}

function refused(cause: unknown): Fault {
  const message = `Kafka refuses this server: ${describeError(cause)}. Check kafka.sasl and the permissions of its user.`
  return new Fault('unavailable', message, { code: 'KAFKA_REFUSED', cause })
}
