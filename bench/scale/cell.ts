/**
 * One cell, simulated: a Postgres shard, its nodes, and the calls of the callers that are routed to it. Nodes put calls
 * into batches as the Postgres store does: a batch is sent when one of the node's connections is idle.
 */
import { type Costs, costOfBatch } from './costs.ts'
import { Cores, Log, type LogDevice, Process } from './resources.ts'
import type { Timeline } from './timeline.ts'

export interface CellShape {
  nodes: number
  /** Cores of the database server. */
  postgresCores: number
  /** Cores of the machine of all nodes. `shared`: they use the cores of the database server. */
  nodeCores: number | 'shared'
  device: LogDevice
  /** From a node to the database, one way. */
  networkUs: number
  /** CPU time of a node per call beyond the store and the engine, for HTTP. */
  httpUs: number
}

/** As in src/stores/postgres: connections for writes, and the limits of a batch. */
const CONNECTIONS = 4
const FEW = 32
/** Batches that share what is under way on a node that is alone. */
const AT_A_TIME = 2
const MOST = 256

/** Calls that wait for a batch, by the times at which their callers sent them. */
class CallQueue {
  #sentUs: number[] = []
  #first = 0

  get length(): number {
    return this.#sentUs.length - this.#first
  }

  get oldestUs(): number | undefined {
    return this.#sentUs[this.#first]
  }

  add(sentUs: readonly number[]): void {
    for (const sent of sentUs) this.#sentUs.push(sent)
  }

  take(calls: number): number[] {
    const taken = this.#sentUs.slice(this.#first, this.#first + calls)
    this.#first += taken.length
    // Taking from the front of a long list would move all of it.
    if (this.#first > 100_000) {
      this.#sentUs = this.#sentUs.slice(this.#first)
      this.#first = 0
    }
    return taken
  }
}

export class Cell {
  readonly #timeline: Timeline
  readonly #costs: Costs
  readonly #shape: CellShape
  readonly postgres: Cores
  readonly log: Log
  readonly nodes: Node[]
  /** Latencies of the calls that have ended, in µs. */
  readonly latenciesUs: number[] = []
  ended = 0
  batches = 0
  batchedCalls = 0
  /** Called with the number of calls that have just ended. */
  onEnded: ((calls: number, node: Node) => void) | undefined
  #down: (() => void)[] | undefined

  constructor(timeline: Timeline, costs: Costs, shape: CellShape) {
    this.#timeline = timeline
    this.#costs = costs
    this.#shape = shape
    this.postgres = new Cores(timeline, shape.postgresCores)
    this.log = new Log(timeline, shape.device)
    const cores = shape.nodeCores === 'shared' ? this.postgres : new Cores(timeline, shape.nodeCores)
    this.nodes = Array.from({ length: shape.nodes }, () => new Node(this, new Process(cores)))
  }

  get isDown(): boolean {
    return this.#down !== undefined
  }

  get callUs(): number {
    return this.#costs.node.call + this.#shape.httpUs
  }

  get batchUs(): number {
    return this.#costs.node.batch
  }

  /** Statements wait until the database is back. */
  stopDatabase(): void {
    this.#down ??= []
  }

  startDatabase(): void {
    const waiting = this.#down ?? []
    this.#down = undefined
    for (const run of waiting) run()
  }

  /** One statement with its commit, from the node and back. */
  execute(calls: number, done: () => void): void {
    const { networkUs } = this.#shape
    const { postgres, kernel, wal } = this.#costs
    this.batches++
    this.batchedCalls += calls
    const run = () => {
      this.postgres.run(costOfBatch(postgres, calls), () =>
        this.log.commit(costOfBatch(wal, calls), () => this.#timeline.after(networkUs, done)),
      )
      // No caller waits for it, but it takes a core.
      this.postgres.run(costOfBatch(kernel, calls), () => {})
    }
    this.#timeline.after(networkUs, () => {
      if (this.#down) this.#down.push(run)
      else run()
    })
  }

  finish(sentUs: readonly number[], node: Node): void {
    for (const sent of sentUs) this.latenciesUs.push(this.#timeline.nowUs - sent)
    this.ended += sentUs.length
    this.onEnded?.(sentUs.length, node)
  }
}

/** Thirds of a call's own work: to accept it, to run it, and to reply. */
const THIRDS = 3

export class Node {
  readonly #cell: Cell
  readonly process: Process
  #idle = CONNECTIONS
  /** Calls in the batches that are sent. */
  #underWay = 0
  readonly #toAccept = new CallQueue()
  readonly #toEnd = new CallQueue()
  /** Accepted calls that have not ended. */
  open = 0
  /** A dead node forgets what it has. */
  isDead = false

  constructor(cell: Cell, process: Process) {
    this.#cell = cell
    this.process = process
  }

  get waiting(): number {
    return this.#toAccept.length + this.#toEnd.length
  }

  submit(sentUs: readonly number[]): void {
    if (sentUs.length === 0) return
    this.process.run((this.#cell.callUs * sentUs.length) / THIRDS, () => {
      this.#toAccept.add(sentUs)
      this.#dispatch()
    })
  }

  #dispatch(): void {
    while (this.#idle > 0 && !this.isDead) {
      const waiting = this.#older()
      if (!waiting) return
      const pending = this.waiting + this.#underWay
      const size = Math.min(MOST, Math.max(FEW, Math.ceil(pending / (this.#cell.nodes.length > 1 ? 1 : AT_A_TIME))))
      this.#idle--
      this.#send(waiting.take(size), waiting === this.#toEnd)
    }
  }

  /** The kind whose first call waits for longer. */
  #older(): CallQueue | undefined {
    const [accept, end] = [this.#toAccept.oldestUs, this.#toEnd.oldestUs]
    if (accept === undefined) return end === undefined ? undefined : this.#toEnd
    return end === undefined || accept < end ? this.#toAccept : this.#toEnd
  }

  #send(sentUs: number[], ends: boolean): void {
    const { callUs, batchUs } = this.#cell
    this.#underWay += sentUs.length
    this.process.run(batchUs, () =>
      this.#cell.execute(sentUs.length, () => {
        if (this.isDead) return
        this.process.run((callUs * sentUs.length) / THIRDS, () => {
          this.#idle++
          this.#underWay -= sentUs.length
          this.open += ends ? -sentUs.length : sentUs.length
          if (ends) this.#cell.finish(sentUs, this)
          else this.#toEnd.add(sentUs)
          this.#dispatch()
        })
      }),
    )
  }
}
