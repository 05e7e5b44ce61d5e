/** The frames of one stream among the messages of a connection, from the first one to the end of the stream. */
import { CallFault } from '../fault.ts'
import type { Envelope } from '../options.ts'
import type { RawFrame, ReaderEnd, Reading } from '../streams/reader.ts'
import { systemClock } from '../time.ts'

type Data = RawFrame['data']

/** Frames that may wait for their reader. */
const MAX_WAITING = 4_096
/** How long the last frames may be behind the end of their stream. */
const OVERTAKEN_MS = 10_000

export class StreamInbox {
  /** Known when the reply that announces the stream has come. */
  requestId: string | undefined
  #waiting: Data[] = []
  #received = 0
  #take: ((data: Data) => void) | undefined
  #end: { readonly envelope: Envelope | undefined } | undefined
  #onChange = () => {}
  #giveUp: (() => void) | undefined

  add(data: Data): void {
    this.#received++
    if (this.#take) this.#take(data)
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(data)
    this.#onChange()
  }

  /** `undefined`: the connection was lost before the end. */
  end(envelope: Envelope | undefined): void {
    this.#end ??= { envelope }
    this.#onChange()
  }

  /**
   * Passes every frame on, until the end of the stream. If the end can overtake frames, as between two topics of Kafka,
   * it waits until as many have come as the end counts.
   */
  read({ push, signal }: Pick<Reading, 'push' | 'signal'>, endCanOvertake: boolean): Promise<ReaderEnd> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      this.#take = (data) => {
        try {
          void push({ data })
        } catch (thrown) {
          reject(thrown)
        }
      }
      this.#onChange = () => {
        if (!this.#end) return
        const { envelope } = this.#end
        if (!envelope) return resolve({ state: 'broken', refused: true })
        if (endCanOvertake && this.#received < framesIn(envelope)) {
          this.#giveUp ??= systemClock.schedule(OVERTAKEN_MS, () => resolve({ state: 'broken', refused: true }))
          return
        }
        this.#giveUp?.()
        resolve(endIn(envelope))
      }
      const waiting = this.#waiting
      this.#waiting = []
      if (this.#received > waiting.length)
        return reject(new CallFault('STREAM_BROKEN', `More than ${MAX_WAITING} frames came before they were read.`))
      for (const data of waiting) this.#take(data)
      this.#onChange()
    })
  }
}

/** Callplane counts the frames in the result of a stream. */
function framesIn({ result }: Envelope): number {
  const { frames } = (result ?? {}) as { frames?: unknown }
  return typeof frames === 'number' ? frames : 0
}

function endIn({ state, error }: Envelope): ReaderEnd {
  return state === 'error' ? { state, error } : { state: 'complete' }
}
