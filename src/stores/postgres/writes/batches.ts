/**
 * Sends requests to the database in batches: requests of one shape that wait together become one statement. A batch
 * starts as soon as a connection is idle. Requests that name the same lane, such as the id of a call, run one after the
 * other, in the order in which they came.
 *
 * If an answer is lost, the same request is sent again (`uncertain`), because its shape can tell whether the first try
 * was committed.
 */
import { BriefMap } from '../../../core/fairness/brief-map.ts'
import { Fault } from '../../../core/fault.ts'
import type { Log } from '../../../core/ports/runtime.ts'
import { closed, isMissingTable, troubleOf, unavailable, writeFault } from '../connect/failures.ts'
import type { Connection, Session } from '../connect/session.ts'
import { type AnyShape, Request, type Shape, type Terms } from './request.ts'

export type { Item, Shape } from './request.ts'

const NO_TERMS: Terms = {}

export interface BatchesParts {
  connections: readonly Connection[]
  /** The fault to refuse requests with while the database is down. */
  down(): Fault | undefined
  /** A connection could not be opened. */
  unreachable(thrown: unknown): void
  /** A statement named a table that is gone. The requests are sent again afterwards. */
  missingTable(session: Session): Promise<unknown>
  log: Log | undefined
  /** True if other nodes use the database, too. Default: false. */
  shared?(): boolean
  /** How long a request whose answer was lost is sent again. */
  doubtMs: number
}

/** Smaller batches cost more for each request: 55 µs of Postgres at 16, 35 at 32, 22 at 128. */
const FEW = 32
/**
 * Two batches at a time share what is under way on one node, and each of several nodes has one. With 128 and 256
 * requests, Postgres took 0.8 of the CPU time that it took with the waiting requests spread over all idle connections,
 * at the same rate.
 */
const AT_A_TIME = 2
const MAX_BATCH_BYTES = 4_000_000
const AGAIN_MS = 20

export class Batches {
  readonly #parts: BatchesParts
  readonly #idle: Connection[]
  /** Nearly every lane has one request, and needs no array. */
  readonly #lanes = new BriefMap<Request | Request[]>()
  /** Requests that may be sent, by shape. */
  #ready = new BriefMap<Request[]>()
  /** Batches that failed and are sent again as they are. */
  #again: Request[][] = []
  #pending = 0
  #orders = 0
  #scheduled = false
  #closing = false
  readonly #drained: (() => void)[] = []

  constructor(parts: BatchesParts) {
    this.#parts = parts
    this.#idle = [...parts.connections]
  }

  /** The fault with which a request would be refused now, without being sent. */
  get refusal(): Fault | undefined {
    return this.#closing ? closed() : this.#parts.down()
  }

  add<V, R>(shape: Shape<V, R>, value: V, terms: Terms = NO_TERMS): Promise<R> {
    const fault = this.refusal
    if (fault) return Promise.reject(fault)
    return new Promise<R>((resolve, reject) => {
      const settle = resolve as (result: unknown) => void
      const request = new Request(value, shape, terms, this.#orders++, settle, reject, this.#leave)
      this.#pending++
      for (const lane of request.lanes) this.#enter(lane, request)
      if (request.blockers === 0) this.#makeReady(request)
    })
  }

  /** The database is down or back. */
  reachabilityChanged(): void {
    this.#dispatch()
  }

  /** Resolves when the requests under way have settled. */
  async idle(): Promise<void> {
    if (this.#pending > 0) await new Promise<void>((resolve) => this.#drained.push(resolve))
  }

  /** Accepts no more requests. Resolves when those under way have settled. */
  end(): Promise<void> {
    this.#closing = true
    return this.idle()
  }

  #makeReady(request: Request): void {
    const waiting = this.#ready.get(request.shape.key)
    if (waiting) waiting.push(request)
    else this.#ready.set(request.shape.key, [request])
    this.#schedule()
  }

  /** Waits for the other requests of this turn of the event loop. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#dispatch()
    })
  }

  #dispatch(): void {
    this.#refuseUnsent()
    this.#giveUpDoubtful()
    while (this.#idle.length > 0 && !this.#parts.down()) {
      const batch = this.#again.shift() ?? this.#nextBatch()
      if (!batch) return
      // The last one in is the one whose caches are warm.
      const connection = this.#idle.pop() as Connection
      void this.#run(connection, batch)
    }
  }

  /** While the database is down, requests that were never sent are refused at once. Those in doubt wait. */
  #refuseUnsent(): void {
    const fault = this.#parts.down()
    if (!fault) return
    const unsent = [...this.#ready.values().flat(), ...this.#again.flat().filter(({ uncertain }) => !uncertain)]
    this.#ready = new BriefMap()
    for (const request of unsent) request.fail(fault)
    this.#forgetSettled()
  }

  #nextBatch(): Request[] | undefined {
    let oldest: Request[] | undefined
    for (const waiting of this.#ready.values())
      if (!oldest || (waiting[0] as Request).order < (oldest[0] as Request).order) oldest = waiting
    if (!oldest) return undefined
    const { shape } = oldest[0] as Request
    const most = Math.min(shape.most, Math.max(FEW, Math.ceil(this.#pending / this.#atATime)))
    let [size, bytes] = [0, 0]
    while (size < oldest.length && size < most) {
      bytes += oldest[size]?.bytes ?? 0
      if (size > 0 && bytes > MAX_BATCH_BYTES) break
      size++
    }
    const batch = oldest.splice(0, size)
    if (oldest.length === 0) this.#ready.delete(shape.key)
    return batch
  }

  get #atATime(): number {
    return this.#parts.shared?.() ? 1 : AT_A_TIME
  }

  async #run(connection: Connection, batch: readonly Request[]): Promise<void> {
    const { shape } = batch[0] as Request
    let restMs = 0
    try {
      await connection.open()
      await shape.run(connection, batch)
      for (const request of batch) if (!request.settled) request.fail(unsettled(shape))
    } catch (thrown) {
      // Otherwise the next batch could still be given to the connection that is ending.
      if (troubleOf(thrown) === 'lost') connection.destroy()
      // If this fails too, the next try of the requests does the same.
      if (isMissingTable(thrown)) await this.#parts.missingTable(connection).catch(() => undefined)
      restMs = this.#failed(batch, thrown)
    }
    if (restMs > 0) setTimeout(() => this.#give(connection), restMs)
    else this.#give(connection)
  }

  #give(connection: Connection): void {
    this.#idle.push(connection)
    // Not at once: the requests that follow from this batch can join the next one.
    this.#schedule()
  }

  /** Returns for how long the connection should rest. */
  #failed(batch: readonly Request[], thrown: unknown): number {
    const left = batch.filter(({ settled }) => !settled)
    const trouble = troubleOf(thrown)
    const { log, unreachable } = this.#parts
    if (trouble === 'unreachable') {
      unreachable(thrown)
      for (const request of left) request.lostMs ??= performance.now()
      this.#sendAgain(left)
      return AGAIN_MS
    }
    if (trouble === 'lost') {
      for (const request of left) {
        request.uncertain = true
        request.lostMs ??= performance.now()
      }
      this.#sendAgain(left)
      return 0
    }
    if (trouble === 'passing' || (left.length > 1 && !(thrown instanceof Fault))) {
      for (const request of left) request.lostMs ??= performance.now()
      const half = Math.ceil(left.length / 2)
      this.#sendAgain(left.slice(0, half))
      this.#sendAgain(left.slice(half))
      return 0
    }
    const fault = writeFault(thrown)
    if (fault.kind === 'internal') log?.error({ err: thrown }, 'a statement failed in the database')
    for (const request of left) request.fail(fault)
    return 0
  }

  #sendAgain(batch: Request[]): void {
    if (batch.length === 0) return
    this.#again.push(batch)
    // Also when the database stays down: then nothing else looks at it again.
    setTimeout(() => this.#dispatch(), this.#parts.doubtMs + AGAIN_MS).unref()
  }

  /** Whether these were committed is unknown, and the caller cannot wait for longer. */
  #giveUpDoubtful(): void {
    const before = performance.now() - this.#parts.doubtMs
    for (const batch of this.#again)
      for (const request of batch)
        if (request.lostMs !== undefined && request.lostMs < before) request.fail(unavailable())
    this.#forgetSettled()
  }

  #forgetSettled(): void {
    this.#again = this.#again.map((batch) => batch.filter(({ settled }) => !settled)).filter(({ length }) => length > 0)
  }

  #enter(lane: string, request: Request): void {
    const before = this.#lanes.get(lane)
    if (before) request.blockers++
    if (!before) this.#lanes.set(lane, request)
    else if (Array.isArray(before)) before.push(request)
    else this.#lanes.set(lane, [before, request])
  }

  /** A request has settled. The next one in its lanes may be sent. */
  readonly #leave = (request: Request): void => {
    for (const lane of request.lanes) {
      const queue = this.#lanes.get(lane)
      if (queue === request) this.#lanes.delete(lane)
      else if (Array.isArray(queue)) this.#leaveQueue(lane, queue, request)
    }
    if (--this.#pending === 0) for (const resolve of this.#drained.splice(0)) resolve()
  }

  #leaveQueue(lane: string, queue: Request[], request: Request): void {
    const at = queue.indexOf(request)
    queue.splice(at, 1)
    const [next] = queue
    if (!next) this.#lanes.delete(lane)
    else if (at === 0 && --next.blockers === 0 && !next.settled) this.#makeReady(next)
  }
}

function unsettled({ key }: AnyShape): Fault {
  return new Fault('internal', `A request of the shape ${key} got no answer. Report this with the server's log.`)
}
