/**
 * The load generator: keep-alive connections with one request at a time on each. It writes and reads raw HTTP, because
 * a client library would cost more than the servers and the result would measure the client. It checks every reply.
 */
import { connect, type Socket } from 'node:net'
import { answerQuestions } from './ask.ts'
import { quantile } from './statistics.ts'
import { type Exchange, TRAFFIC, type TrafficName } from './traffic.ts'

export interface LoadOptions {
  port: number
  connections: number
  durationMs: number
  traffic: TrafficName
  /** Used by traffic over many operations. */
  operations?: readonly string[]
  /**
   * Leaves the connections open for the next run on this port, so that the figure excludes the cost of opening them.
   */
  keepOpen?: boolean
  /** Polls for replies and never sleeps, so that no server pays for waking this process. It needs a core of its own. */
  polls?: boolean
}

export interface LoadResult {
  calls: number
  /** Number of replies that were not the expected one. */
  wrong: number
  firstWrong?: string
  elapsedMs: number
  p50Ms: number
  p99Ms: number
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = '0\r\n\r\n'

/** The work of one connection during one run. */
interface Turn {
  next(): Exchange | undefined
  done(sentAt: number, problem?: string): void
  /** Called when there is nothing more to send or the connection is closed. */
  ended(): void
}

class Connection {
  readonly #socket: Socket
  readonly #keepOpen: boolean
  #turn: Turn | undefined
  #exchange: Exchange | undefined
  #sentAt = 0
  /** A reply whose head and first bytes have not all arrived. */
  #begun: Buffer | undefined
  /** Bytes of the reply's body still to come, once its start has been checked. */
  #outstanding: number | undefined
  #problem: string | undefined

  constructor(port: number, keepOpen: boolean) {
    this.#keepOpen = keepOpen
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (chunk) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.#fail(`connection: ${error.message}`))
    this.#socket.on('close', () => {
      this.#fail('the server closed the connection')
      this.#end()
    })
  }

  get isOpen(): boolean {
    return this.#socket.readyState === 'open'
  }

  run(turn: Turn): void {
    this.#turn = turn
    if (this.isOpen) this.#send()
    else this.#socket.once('connect', () => this.#send())
  }

  #send(): void {
    this.#exchange = this.#turn?.next()
    if (this.#exchange) {
      this.#sentAt = performance.now()
      this.#socket.write(this.#exchange.request, 'latin1')
    } else if (this.#keepOpen) this.#end()
    else this.#socket.end()
  }

  #fail(problem: string): void {
    if (this.#exchange) this.#turn?.done(this.#sentAt, problem)
    this.#exchange = undefined
  }

  #end(): void {
    const turn = this.#turn
    this.#turn = undefined
    turn?.ended()
  }

  #receive(chunk: Buffer): void {
    if (this.#outstanding === undefined) {
      const bytes = this.#begun ? Buffer.concat([this.#begun, chunk]) : chunk
      const { bodyStart } = this.#exchange as Exchange
      const headEnd = bytes.indexOf(HEAD_END)
      const head = headEnd < 0 ? '' : bytes.toString('latin1', 0, headEnd)
      const chunked = /\r\ntransfer-encoding: chunked/i.test(head)
      const bodyAt = headEnd + HEAD_END.length + (chunked ? sizeLineLength(bytes, headEnd) : 0)
      const complete = !chunked || bytes.toString('latin1', bytes.length - LAST_CHUNK.length) === LAST_CHUNK
      if (headEnd < 0 || bytes.length < bodyAt + bodyStart.length || !complete) {
        this.#begun = bytes
        return
      }
      this.#begun = undefined
      this.#problem = problemIn(bytes, bodyAt, this.#exchange as Exchange)
      this.#outstanding = chunked ? 0 : bodyAt + contentLength(head) - bytes.length
    } else this.#outstanding -= chunk.length
    if (this.#outstanding > 0) return
    this.#outstanding = undefined
    this.#exchange = undefined
    this.#turn?.done(this.#sentAt, this.#problem)
    this.#send()
  }
}

function problemIn(bytes: Buffer, bodyAt: number, { status, bodyStart, bodyEnd = '' }: Exchange): string | undefined {
  // "HTTP/1.1 " is nine characters long.
  const right =
    bytes.toString('latin1', 9, 12) === status &&
    bytes.toString('latin1', bodyAt, bodyAt + bodyStart.length) === bodyStart &&
    // Replies that are checked at their end are small and arrive in one piece.
    bytes.toString('latin1', bytes.length - bodyEnd.length) === bodyEnd
  return right ? undefined : bytes.toString('latin1', 0, 600)
}

/**
 * Length of the first chunk's size line. Chunked replies are small here: the first chunk has everything that is
 * checked.
 */
function sizeLineLength(bytes: Buffer, headEnd: number): number {
  const from = headEnd + HEAD_END.length
  return Math.max(0, bytes.indexOf('\r\n', from) + 2 - from)
}

function contentLength(head: string): number {
  const at = head.search(/\r\ncontent-length: /i)
  return at < 0 ? 0 : Number.parseInt(head.slice(at + 18), 10)
}

/** Connections that an earlier run left open, by port. A server may have closed some of them since. */
const kept = new Map<number, Connection[]>()

function connectionsTo({ port, connections, keepOpen = false }: LoadOptions): Connection[] {
  const open = (kept.get(port) ?? []).filter(({ isOpen }) => isOpen)
  const all = Array.from({ length: connections }, (_, index) => open[index] ?? new Connection(port, keepOpen))
  if (keepOpen) kept.set(port, all)
  return all
}

async function run(options: LoadOptions): Promise<LoadResult> {
  const make = TRAFFIC[options.traffic](options.operations ?? [])
  const latencies: number[] = []
  let wrong = 0
  let firstWrong: string | undefined
  const startedAt = performance.now()
  const endsAt = startedAt + options.durationMs
  let lastAt = startedAt
  // On a busy machine a short window may pass without a call, so each connection makes at least one.
  let made = 0
  const next = () => (made++ < options.connections || performance.now() < endsAt ? make() : undefined)
  const done = (sentAt: number, problem?: string) => {
    lastAt = performance.now()
    if (problem === undefined) latencies.push(lastAt - sentAt)
    else {
      wrong++
      firstWrong ??= problem
    }
  }
  let running = options.polls === true
  const poll = () => {
    if (running) setImmediate(poll)
  }
  poll()
  await Promise.all(
    connectionsTo(options).map((connection) => new Promise<void>((ended) => connection.run({ next, done, ended }))),
  )
  running = false
  latencies.sort((a, b) => a - b)
  return {
    calls: latencies.length,
    wrong,
    ...(firstWrong !== undefined && { firstWrong }),
    elapsedMs: lastAt - startedAt,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  }
}

answerQuestions({ run, stop: () => undefined })
