/**
 * Finds large messages of QoS 0 after which the broker ended the connection. A broker of MQTT 3.1.1 gives no other sign
 * that a message was too large for it.
 */

/** A smaller message says nothing about the broker's limit: the network may have been the reason. */
export const LEAST_LIMIT_BYTES = 64 * 1024
/** A broker needs less time to read a message. A connection that ends later has another reason. */
const SUSPECT_MS = 5_000
/** One lost connection may be chance. Messages of QoS 1 are given up after as many. */
const CERTAIN = 3

export interface LostMessage {
  topic: string
  bytes: number
  /** Connections have ended this way again and again: the broker takes no message of this size. */
  certain: boolean
}

export class LostMessages {
  #last: { topic: string; bytes: number; atMs: number } | undefined
  #inARow = 0
  #count = 0

  /** Messages that are probably lost. */
  get count(): number {
    return this.#count
  }

  /** A message was sent that the broker does not confirm. */
  sent(topic: string, bytes: number, nowMs: number): void {
    if (bytes < LEAST_LIMIT_BYTES) return
    if (this.#last && nowMs - this.#last.atMs > SUSPECT_MS) this.#inARow = 0
    this.#last = { topic, bytes, atMs: nowMs }
  }

  /** The connection has ended. Returns the message that was the reason, probably. */
  ended(nowMs: number): LostMessage | undefined {
    const last = this.#last
    this.#last = undefined
    if (!last || nowMs - last.atMs > SUSPECT_MS) return undefined
    this.#count++
    this.#inARow++
    return { topic: last.topic, bytes: last.bytes, certain: this.#inARow >= CERTAIN }
  }
}
