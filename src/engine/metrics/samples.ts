/**
 * Samples of every node, kept in the store's records: every ten seconds for two hours, and every minute for a day. A node
 * on which nothing happens writes none.
 */
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'

/** Calls that ended within one step. `buckets` has their durations, by the bounds of the histogram. */
export interface Ended {
  calls: number
  errors: number
  buckets: readonly number[]
}

export interface Gauges {
  queued: number
  running: number
  loopDelayMs: number
  memoryBytes: number
}

export interface Sample extends Gauges {
  /** The start of the step, in Unix epoch milliseconds. */
  at: number
  node: number
  /** By the operation's name. */
  operations: Record<string, Ended>
}

/** What a node measures. */
export interface Measured {
  gauges(): Gauges
  /** The counts since the start of the process, by the operation's name. */
  totals(): ReadonlyMap<string, Ended>
  /** The number of this node. It may change. */
  node(): number
}

export interface Tier {
  name: string
  stepMs: number
  keepMs: number
}

export const FINE: Tier = { name: 'fine', stepMs: 10_000, keepMs: 2 * 3_600_000 }
export const COARSE: Tier = { name: 'coarse', stepMs: 60_000, keepMs: 86_400_000 + 3_600_000 }

/** The operations of one sample. Those with fewer calls are counted together. */
const MOST_OPERATIONS = 50
export const OTHERS = '_other'
const PAGE = 1_000

export class Samples {
  readonly #records: Pick<Records, 'put' | 'list'>

  constructor(records: Pick<Records, 'put' | 'list'>) {
    this.#records = records
  }

  async write({ name, keepMs }: Tier, sample: Sample, writer: string): Promise<void> {
    const key = `${prefixOf(name)}${timeKey(sample.at)}/${writer}`
    await this.#records.put(key, JSON.stringify(sample), sample.at + keepMs)
  }

  /** The samples of all nodes from `from`, before `to`. */
  async read({ name }: Tier, from: number, to: number): Promise<Sample[]> {
    const prefix = prefixOf(name)
    const samples: Sample[] = []
    let last = prefix + timeKey(from)
    for (;;) {
      const found = await this.#records.list(prefix, PAGE, last)
      for (const { key, value } of found) {
        if (key >= prefix + timeKey(to)) return samples
        samples.push(JSON.parse(value) as Sample)
        last = key
      }
      if (found.length < PAGE) return samples
    }
  }
}

export interface SamplingParts {
  clock: Clock
  log: Log
  samples: Samples
  measured: Measured
  /** A name of this process that no other has. */
  writer: string
}

/** Takes the samples of this process. */
export class Sampling {
  readonly #parts: SamplingParts
  #before: ReadonlyMap<string, Ended> = new Map()
  #minute: Sample[] = []
  #cancel = () => {}
  #underWay: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: SamplingParts) {
    this.#parts = parts
  }

  start(): void {
    this.#before = this.#parts.measured.totals()
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#underWay
  }

  /** `stepEnd` is the end of the current step. */
  #schedule(stepEnd = (stepOf(this.#parts.clock.now()) + 1) * FINE.stepMs): void {
    if (this.#stopped) return
    const { clock, log } = this.#parts
    this.#cancel = clock.schedule(Math.max(1, stepEnd - clock.now()), () => {
      // Timers follow the machine's clock, and steps follow the store's. A second sample of a step would replace the first.
      if (clock.now() < stepEnd) return this.#schedule(stepEnd)
      this.#underWay = this.#take().catch((err) => log.warn({ err }, 'could not store a sample of the metrics'))
      void this.#underWay.then(() => this.#schedule())
    })
  }

  /** Writes the sample of the step that has ended. */
  async #take(): Promise<void> {
    const { clock, samples, measured, writer } = this.#parts
    const totals = measured.totals()
    const operations = differences(totals, this.#before)
    this.#before = totals
    const at = (stepOf(clock.now()) - 1) * FINE.stepMs
    const gauges = measured.gauges()
    const isIdle = Object.keys(operations).length === 0 && gauges.queued + gauges.running === 0
    if (!isIdle) {
      const sample: Sample = { at, node: measured.node(), ...gauges, operations }
      this.#minute.push(sample)
      await samples.write(FINE, sample, writer)
    }
    const [first] = this.#minute
    if (!first) return
    const minute = Math.floor(first.at / COARSE.stepMs) * COARSE.stepMs
    const isOver = at + FINE.stepMs >= minute + COARSE.stepMs
    if (!isOver) return
    const gathered = this.#minute
    this.#minute = []
    await samples.write(COARSE, { ...joined(gathered), at: minute }, writer)
  }
}

/** The samples of one node as one: counts are added, and of the gauges the highest values count. */
function joined(samples: readonly Sample[]): Sample {
  const [first, ...more] = samples as [Sample, ...Sample[]]
  const highest = (of: (sample: Sample) => number) => more.reduce((most, one) => Math.max(most, of(one)), of(first))
  return {
    ...first,
    queued: highest(({ queued }) => queued),
    running: highest(({ running }) => running),
    loopDelayMs: highest(({ loopDelayMs }) => loopDelayMs),
    memoryBytes: highest(({ memoryBytes }) => memoryBytes),
    operations: fewest(addAll(samples.map(({ operations }) => operations))),
  }
}

function addAll(all: readonly Record<string, Ended>[]): Map<string, Ended> {
  const sum = new Map<string, Ended>()
  for (const operations of all) {
    for (const [name, ended] of Object.entries(operations)) sum.set(name, addEnded(sum.get(name), ended))
  }
  return sum
}

export function addEnded(one: Ended | undefined, other: Ended): Ended {
  if (!one) return other
  return {
    calls: one.calls + other.calls,
    errors: one.errors + other.errors,
    buckets: other.buckets.map((count, at) => count + (one.buckets[at] ?? 0)),
  }
}

function differences(now: ReadonlyMap<string, Ended>, before: ReadonlyMap<string, Ended>): Record<string, Ended> {
  const changed = new Map<string, Ended>()
  for (const [name, { calls, errors, buckets }] of now) {
    const last = before.get(name)
    if (last?.calls === calls) continue
    changed.set(name, {
      calls: calls - (last?.calls ?? 0),
      errors: errors - (last?.errors ?? 0),
      buckets: buckets.map((count, at) => count - (last?.buckets[at] ?? 0)),
    })
  }
  return fewest(changed)
}

function fewest(operations: ReadonlyMap<string, Ended>): Record<string, Ended> {
  if (operations.size <= MOST_OPERATIONS) return Object.fromEntries(operations)
  const sorted = [...operations].sort(([, one], [, other]) => other.calls - one.calls)
  const kept = sorted.slice(0, MOST_OPERATIONS - 1)
  const rest = sorted.slice(MOST_OPERATIONS - 1).map(([, ended]) => ended)
  return Object.fromEntries([...kept, [OTHERS, rest.reduce<Ended | undefined>(addEnded, undefined) as Ended]])
}

/** The number of the fine step at this time. */
function stepOf(ms: number): number {
  return Math.floor(ms / FINE.stepMs)
}

function prefixOf(tier: string): string {
  return `metrics-${tier}/`
}

/** In the order of time. */
function timeKey(ms: number): string {
  return Math.max(0, Math.floor(ms)).toString().padStart(15, '0')
}
