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
import { Link } from '../../wire/messages/link.ts'
import { Consuming, type Received } from './consuming.ts'
import { describeError, isRefused } from './errors.ts'
import { createFrameTransport } from './frames.ts'
import { aborted, delay } from './outbox.ts'
import { Publishing } from './publishing.ts'
import { away, Replies } from './replies.ts'
import type { ReplyAddress } from './reply-address.ts'
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
const NO_PEER = { header: () => undefined }
/** If the session cannot take a message now, it gets the message again after this time, then after longer times. */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 30_000

export function createKafka(settings: KafkaSettings): Kafka {
  const topics = new Topics(settings)
  const closing = new AbortController()
  const { log } = settings
  let publishing: Publishing | undefined
  let consuming: Consuming | undefined
  let replies: Replies | undefined
  let received = 0
  let frames = 0

  const transport = createFrameTransport(() => {
    if (!publishing) throw new Fault('unavailable', 'Kafka is not connected yet. Try again in a moment.')
    return { settings, topics, publishing, signal: closing.signal, framed: () => void frames++ }
  })

  function serve({ open, origin, maxBytes }: KafkaServing): Carrier {
    const links = new Set<Link>()

    function take(message: Received): boolean | Promise<boolean> {
      received++
      const address = (replies as Replies).addressOf(message)
      const link = new Link({
        open,
        peer: NO_PEER,
        origin: origin(),
        transmit: (reply, about) => address.send(reply, about),
        flushed: () => address.flushed(),
        replyTo: address.place && { carrier: NAME, place: address.place },
        frames: address.framesAfterReply(transport),
        limits: { maxBytes, maxInFlight: 1 },
        log,
      })
      const value = message.value ?? Buffer.alloc(0)
      const attempt = () => (address.refusal ? link.refuse(address.refusal, value) : link.receive(value, idOf(message)))
      const taking = attempt()
      if (taking !== true) return takeLater(taking, attempt, link, address)
      leave(link)
      // Offsets are committed over another connection, so the commit could overtake the reply.
      return address.flushed()
    }

    /** Offers the message again while the session cannot take it. */
    async function takeLater(
      first: boolean | Promise<boolean>,
      attempt: () => boolean | Promise<boolean>,
      link: Link,
      address: ReplyAddress,
    ): Promise<boolean> {
      links.add(link)
      let isTaken = await first
      for (let waitMs = FIRST_RETRY_MS; !isTaken && !closing.signal.aborted; waitMs *= 2) {
        await delay(Math.min(waitMs, LAST_RETRY_MS), closing.signal)
        if (!closing.signal.aborted) isTaken = await attempt()
      }
      leave(link)
      return isTaken && address.flushed()
    }

    function leave(link: Link): void {
      const ending = link.end()
      if (!ending) return void links.delete(link)
      links.add(link)
      void ending.then(() => links.delete(link))
    }

    return {
      async listen() {
        await requireTopics()
        publishing = new Publishing(settings)
        replies = new Replies(settings, publishing)
        consuming = new Consuming({ settings, take })
        consuming.start()
      },
      async close(graceMs) {
        closing.abort()
        const cut = new AbortController()
        const timer = setTimeout(() => cut.abort(), graceMs)
        const stopping = consuming?.stop()
        await Promise.race([Promise.all([stopping, ...[...links].map((link) => link.finish())]), aborted(cut.signal)])
        await Promise.all([...links].map((link) => link.close(cut.signal)))
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
      received,
      published: publishing?.published ?? 0,
      lost: publishing?.lost ?? 0,
      putAside: replies?.putAside ?? 0,
      frames,
    }),
  }
}

/** The same for each delivery. The time distinguishes messages of a topic that was removed and created again. */
function idOf({ topic, partition, offset, timestamp }: Received): string {
  return `${topic.slice(0, 64)}:${partition}:${offset}:${timestamp}`
}

function refused(cause: unknown): Fault {
  const message = `Kafka refuses this server: ${describeError(cause)}. Check kafka.sasl and the permissions of its user.`
  return new Fault('unavailable', message, { code: 'KAFKA_REFUSED', cause })
}
