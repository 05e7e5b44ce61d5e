/** The Contract over HTTP, for runtimes of the kinds `external` and `webhook-callback`. */

import { bareType } from '../../core/call/media.ts'
import { Fault } from '../../core/fault.ts'
import type { Answer, Exchange, Refusal, Route } from '../../core/ports/exchange.ts'
import { encodeFault, encodeResponse } from './codec.ts'
import { type ContractParts, type ContractSettings, type Execution, Executions, type Incoming } from './executions.ts'
import { statusOf } from './statuses.ts'
import { CONTRACT_VERSION } from './wire.ts'

const PREFIX = '/tool-contract/v1'
const JOBS = `${PREFIX}/jobs`

const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Tool-Contract-Version': CONTRACT_VERSION,
}

export function createContractRoutes(parts: ContractParts): Route[] {
  const executions = new Executions(parts)
  const { maxBodyBytes } = parts.settings
  const answer = (execution: Execution, exchange: Exchange) => answerOf(execution, exchange, parts.settings)
  const incoming = (exchange: Exchange): Incoming => ({
    header: (name) => exchange.header(name),
    text: () => readText(exchange, maxBodyBytes),
    get signal() {
      return exchange.signal
    },
    origin: exchange.origin,
  })
  const refuse = (_exchange: Exchange, why: Refusal) => refusalAnswer(why, parts.settings)
  return [
    {
      path: `${PREFIX}/execute`,
      refuse,
      methods: {
        POST: async (exchange) => answer(await executions.execute(incoming(exchange)), exchange),
      },
    },
    {
      path: JOBS,
      refuse,
      methods: { POST: async (exchange) => answer(await executions.submit(incoming(exchange)), exchange) },
    },
    {
      path: `${JOBS}/{id}`,
      refuse,
      methods: {
        GET: async (exchange, { id = '' }) => answer(await executions.poll(incoming(exchange), id), exchange),
      },
    },
  ]
}

async function readText(exchange: Exchange, maxBytes: number): Promise<string> {
  if (bareType(exchange.header('content-type') ?? '') === 'application/json') return exchange.text(maxBytes)
  throw new Fault('malformed', 'The request body must be JSON. Set Content-Type to application/json.', {
    code: 'UNSUPPORTED_CONTENT_TYPE',
  })
}

/** The body of a running job has no `status`, because that field states how an execution ended. */
function answerOf(execution: Execution, { origin }: Exchange, settings: ContractSettings): Answer {
  if (execution.kind === 'ended') {
    const { response, refusal } = execution
    return json(refusal ? statusOf(refusal) : 200, encodeResponse(response, settings), refusal)
  }
  const { requestId, retryAfterMs } = execution
  const body = JSON.stringify({ tool_contract_version: CONTRACT_VERSION, request_id: requestId })
  const Location = `${origin}${JOBS}/${encodeURIComponent(requestId)}`
  return { status: 202, headers: { ...HEADERS, Location, 'Retry-After': seconds(retryAfterMs) }, body }
}

function json(status: number, body: string, refusal?: Fault): Answer {
  const hints =
    status === 401
      ? { 'WWW-Authenticate': 'Bearer' }
      : refusal?.retryAfterMs !== undefined && { 'Retry-After': seconds(refusal.retryAfterMs) }
  return { status, headers: hints ? { ...HEADERS, ...hints } : HEADERS, body }
}

function seconds(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)))
}

/** Response to a request that did not reach a route's handler. */
function refusalAnswer(why: Refusal, settings: ContractSettings): Answer {
  const fault = faultIn(why)
  const blank = { requestId: '', trace: { trace_id: '', span_id: '' }, elapsedMs: 0 }
  const body = encodeResponse(encodeFault(fault, blank), settings)
  if (why.kind !== 'method') return json(statusOf(fault), body, fault)
  const refused = json(405, body)
  return { ...refused, headers: { ...refused.headers, Allow: why.allow.join(', ') } }
}

function faultIn(why: Refusal): Fault {
  switch (why.kind) {
    case 'fault':
      return why.fault
    case 'path':
      return new Fault('not-found', `There is nothing at this path. Send requests to ${PREFIX}/execute.`)
    case 'method':
      return new Fault('malformed', `This path accepts only ${why.allow.join(', ')}.`)
  }
}
