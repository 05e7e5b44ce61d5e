/**
 * Sends mutated requests to every route of a server on loopback and reports responses that no route documents. The same
 * seed produces the same requests. Their number and the time for each are limited.
 */
import { type Answered, exchange, type Outcome } from './hostile/exchange.ts'
import { makeHostile } from './hostile/mutations.ts'
import { createRandom } from './hostile/random.ts'
import { type Draft, goodRequests, type Surface } from './hostile/requests.ts'

export interface HostileRun {
  /** Address of a server on loopback. */
  baseUrl: string
  count: number
  seed: number
  /** Valid bearer tokens; most requests carry one. */
  tokens?: readonly string[]
  /** Number of requests in flight. Default: 8. */
  concurrency?: number
  /** A request without a response after this time counts as hung. Default: 45 s, above the longest wait for a call. */
  limitMs?: number
}

export interface Finding {
  /** The position of the request in the seed's sequence. */
  index: number
  what: string
  request: string
  answer: string
}

export interface HostileReport {
  sent: number
  /** Counts by status; `closed` counts connections that were closed without a response. */
  statuses: Record<string, number>
  findings: Finding[]
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[?::1\]?|localhost)$/
const MAX_FINDINGS = 100

export async function sendHostileRequests(run: HostileRun): Promise<HostileReport> {
  const { hostname, port, host } = new URL(run.baseUrl)
  if (!LOOPBACK.test(hostname)) throw new Error(`${hostname} is not on loopback. Hostile requests go nowhere else.`)
  const address = hostname.replace(/^\[|\]$/g, '')
  const target = { host, tokens: run.tokens ?? [] }
  const report: HostileReport = { sent: 0, statuses: {}, findings: [] }

  async function send(index: number): Promise<boolean> {
    const random = createRandom(run.seed * 1_000_003 + index)
    const draft = random.pick(goodRequests(`h-${run.seed}-${index}`))
    const { bytes, broken, method } = makeHostile(draft, random, target)
    const outcome = await exchange({
      host: address,
      port: Number(port),
      bytes,
      ends: broken,
      bodiless: method === 'HEAD',
      limitMs: run.limitMs ?? 45_000,
    })
    report.sent++
    for (const status of statusesOf(outcome)) report.statuses[status] = (report.statuses[status] ?? 0) + 1
    for (const { what, answer } of judge({ ...draft, method }, outcome, broken)) {
      if (report.findings.length >= MAX_FINDINGS) break
      report.findings.push({ index, what, request: shorten(bytes.toString('latin1')), answer: shorten(answer) })
    }
    return outcome.kind !== 'unreachable'
  }

  let next = 0
  const lanes = Array.from({ length: run.concurrency ?? 8 }, async () => {
    while (next < run.count) {
      if (!(await send(next++))) next = run.count
    }
  })
  await Promise.all(lanes)
  return report
}

function statusesOf(outcome: Outcome): string[] {
  return outcome.kind === 'answers' ? outcome.answers.map(({ status }) => String(status)) : [outcome.kind]
}

interface Breach {
  what: string
  answer: string
}

function judge(draft: Draft, outcome: Outcome, broken: boolean): Breach[] {
  switch (outcome.kind) {
    case 'unreachable':
      return [{ what: 'nobody listens any more', answer: '' }]
    case 'silent':
      return [{ what: 'no answer', answer: '' }]
    case 'closed':
      return broken ? [] : [{ what: 'closed without an answer', answer: '' }]
    case 'answers':
      return outcome.answers.flatMap((answered) => {
        const what = breachIn(draft, answered, broken)
        return what === undefined ? [] : [{ what, answer: `${answered.status} ${answered.type} ${answered.body}` }]
      })
  }
}

function breachIn({ surface, method, path }: Draft, answered: Answered, broken: boolean): string | undefined {
  const { status, type, body } = answered
  const json = parseJson(body)
  // Tool Execution API, "Status Codes": a failed tool is 500 with a CallToolResult.
  const isFailedTool = surface === 'rest' && status === 500 && path.endsWith('/call') && has(json, 'isError')
  if (status >= 500 && status !== 503 && status !== 504 && !isFailedTool) return `status ${status}`
  if (status < 400)
    return /json/.test(type) && json === undefined && body !== '' ? 'JSON that cannot be read' : undefined
  // Malformed HTTP reaches no route.
  if (body === '' && (broken || method === 'HEAD' || UNREAD.has(status))) return undefined
  if (json === undefined) return body === '' ? 'an error without a body' : 'an error that is not JSON'
  if (!/^application\/(?:problem\+)?json/.test(type)) return `an error of type "${type}"`
  return SHAPES[surface].some((key) => has(json, key)) || has(json, 'error')
    ? undefined
    : 'an error of no declared shape'
}

/**
 * Statuses that Node sends before any route runs: malformed HTTP, an unsupported expectation, a head that is too large.
 */
const UNREAD = new Set([400, 417, 431, 505])

/** Every error of the protocol has one of these members. */
const SHAPES: Record<Surface, readonly string[]> = {
  opencall: ['error'],
  oxp: ['message', 'success'],
  rest: ['error', 'isError', 'valid'],
  contract: ['error', 'status'],
  mcp: ['error', 'jsonrpc'],
  server: ['error', 'message'],
}

function has(json: unknown, key: string): boolean {
  return typeof json === 'object' && json !== null && Object.hasOwn(json, key)
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function shorten(text: string): string {
  return text.length > 1_500 ? `${text.slice(0, 1_500)}… (${text.length} characters)` : text
}
