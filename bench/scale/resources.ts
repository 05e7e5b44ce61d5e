/** What a call uses: cores, a process with one thread, and the database's log with its disk. */
import type { Timeline } from './timeline.ts'

/** The cores of a machine. Work waits for a free one, in order. */
export class Cores {
  readonly #timeline: Timeline
  readonly count: number
  readonly #waiting: { us: number; done(): void }[] = []
  #running = 0
  busyUs = 0

  constructor(timeline: Timeline, count: number) {
    this.#timeline = timeline
    this.count = count
  }

  run(us: number, done: () => void): void {
    this.#waiting.push({ us, done })
    this.#start()
  }

  #start(): void {
    while (this.#running < this.count) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#running++
      this.busyUs += next.us
      this.#timeline.after(next.us, () => {
        this.#running--
        next.done()
        this.#start()
      })
    }
  }
}

/** A process that does one thing at a time, on one of the cores. */
export class Process {
  readonly #cores: Cores
  readonly #waiting: { us: number; done(): void }[] = []
  #busy = false
  busyUs = 0

  constructor(cores: Cores) {
    this.#cores = cores
  }

  run(us: number, done: () => void): void {
    this.#waiting.push({ us, done })
    this.#next()
  }

  #next(): void {
    if (this.#busy) return
    const next = this.#waiting.shift()
    if (!next) return
    this.#busy = true
    this.busyUs += next.us
    this.#cores.run(next.us, () => {
      this.#busy = false
      next.done()
      this.#next()
    })
  }
}

export interface LogDevice {
  /** The time of one flush. */
  flushUs: number
  bytesPerSecond: number
  /** How long a commit waits after its flush for the standby. 0 without a synchronous standby. */
  standbyUs: number
}

/** Commits that arrive during a flush share the next one, as in Postgres. */
export class Log {
  readonly #timeline: Timeline
  readonly #device: LogDevice
  #waiting: { bytes: number; done(): void }[] = []
  #flushing = false
  busyUs = 0
  bytes = 0
  flushes = 0

  constructor(timeline: Timeline, device: LogDevice) {
    this.#timeline = timeline
    this.#device = device
  }

  get bytesPerSecond(): number {
    return this.#device.bytesPerSecond
  }

  commit(bytes: number, done: () => void): void {
    this.#waiting.push({ bytes, done })
    if (!this.#flushing) this.#flush()
  }

  #flush(): void {
    const flushed = this.#waiting
    if (flushed.length === 0) return
    this.#waiting = []
    this.#flushing = true
    const { flushUs, bytesPerSecond, standbyUs } = this.#device
    const bytes = flushed.reduce((sum, each) => sum + each.bytes, 0)
    const us = flushUs + (bytes * 1_000_000) / bytesPerSecond
    this.bytes += bytes
    this.busyUs += us
    this.flushes++
    this.#timeline.after(us, () => {
      this.#flushing = false
      if (standbyUs > 0) this.#timeline.after(standbyUs, () => flushed.forEach(({ done }) => void done()))
      else for (const { done } of flushed) done()
      this.#flush()
    })
  }
}
