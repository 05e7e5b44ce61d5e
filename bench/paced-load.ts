/**
 * Sends calls at a fixed rate, even if earlier calls are still open. Latency counts from the time a call was due, so a
 * stalled server is charged for all calls that were due during the stall.
 */
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { answerQuestions } from './ask.ts'
import { fetchOnce } from './fetch-once.ts'
import { quantile } from './statistics.ts'
import { callRequest } from './traffic.ts'

export interface Pace {
  port: number
  operation: string
  perSecond: number
  /** Headers added to those that every call has. */
  headers?: Readonly<Record<string, string>>
}

export interface Paced {
  calls: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

/** Calls in this period are not counted, because this process still compiles its code and opens its connections. */
const WARM_UP_MS = 2_000

const HEADERS = { 'Content-Type': 'application/json', Prefer: 'wait=10' }

let underWay: { stop(): Promise<Paced> } | undefined

function begin({ port, operation, perSecond, headers: more }: Pace): { stop(): Promise<Paced> } {
  // Uses the connections in rotation, so that the server does not close an idle one just as a call is sent on it.
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo' })
  const everyMs = 1000 / perSecond
  const startedAt = performance.now()
  const countedFrom = startedAt + WARM_UP_MS
  const latencies: number[] = []
  const open: Promise<void>[] = []
  let failure: unknown
  let stopped = false

  async function call(index: number): Promise<void> {
    const requestId = randomUUID()
    const { body } = callRequest(operation, { a: index, b: 1 }, requestId)
    const answer = await fetchOnce(port, '/call', { agent, body, headers: { ...HEADERS, ...more } })
    const expected = `{"requestId":"${requestId}","state":"complete","result":${index + 1}`
    const text = answer.body.toString()
    if (!text.startsWith(expected)) throw new Error(`A call was answered with ${answer.status} ${text}`)
    const dueAt = startedAt + index * everyMs
    if (dueAt >= countedFrom) latencies.push(performance.now() - dueAt)
  }

  function fail(thrown: unknown): void {
    failure ??= thrown
  }

  const sending = (async () => {
    for (let index = 0; !stopped; ) {
      for (; startedAt + index * everyMs <= performance.now(); index++) {
        open.push(call(index).catch(fail))
      }
      await pause(1)
    }
  })()

  return {
    async stop() {
      stopped = true
      await sending
      await Promise.all(open)
      agent.destroy()
      if (failure) throw failure
      latencies.sort((a, b) => a - b)
      const at = (q: number) => quantile(latencies, q)
      return { calls: latencies.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
    },
  }
}

answerQuestions({
  start(pace: Pace) {
    underWay = begin(pace)
  },
  finish: () => underWay?.stop(),
  stop: () => undefined,
})
