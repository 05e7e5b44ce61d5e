import { describe, expect, test } from 'vitest'
import { createExternalBackend } from '../../src/backends/external/index.ts'
import { createHttpBackend } from '../../src/backends/http/index.ts'
import { createWebhookBackend } from '../../src/backends/webhook/index.ts'
import type { BackendSpec } from '../../src/core/operation/operation.ts'
import type { Backend, BackendParts } from '../../src/core/ports/backend.ts'
import { describeBackend, type OpenBackend, type ToolBehaviour } from '../../src/testing/suites/backend/backend.ts'
import { showsRuntimeSemantics } from './runtime-semantics.ts'
import { flood, partsWith, type Respond, requestIn, responseTo, startTool } from './tool-server.ts'

const runner = { describe, test, expect }

function overHttp(
  create: (spec: BackendSpec, parts: BackendParts) => Backend,
  tools: Record<ToolBehaviour, Respond>,
): OpenBackend {
  return async (behaviour, clock) => {
    const tool = await startTool(tools[behaviour])
    const { begun, stopped } = tool
    const spec = { kind: 'any', endpoint: `${tool.url}/run`, allowPrivate: true, maxBytes: 1_000_000 }
    return { backend: create(spec, partsWith(clock)), begun, stopped, cleanup: () => tool.close() }
  }
}

const hang: Respond = () => {}
const pour: Respond = (_asked, response) => flood(response)

describeBackend(
  runner,
  'http',
  overHttp(createHttpBackend, {
    echo: ({ body }, response) => response.end(body),
    fail: (_asked, response) => response.writeHead(422).end('no'),
    hang,
    flood: pour,
  }),
  showsRuntimeSemantics,
)

const failure = { code: 'invalid_input', reason: 'tool_invalid_input', retryable: false, message: 'no', details: {} }
const answering: Record<ToolBehaviour, Respond> = {
  echo: (asked, response) => response.end(responseTo(requestIn(asked))),
  fail: (asked, response) => response.end(responseTo(requestIn(asked), { status: 'error', error: failure })),
  hang,
  flood: pour,
}

describeBackend(runner, 'external', overHttp(createExternalBackend, answering), showsRuntimeSemantics)
describeBackend(
  runner,
  'webhook that answers at once',
  overHttp(createWebhookBackend, answering),
  showsRuntimeSemantics,
)

/** Takes every call with 202 and has its answer at the second question. */
function polled(behaviour: ToolBehaviour): Respond {
  const calls = new Map<string, { body: string; questions: number }>()
  return (asked, response, request) => {
    const id = decodeURIComponent(asked.path.split('/').at(-1) ?? '')
    if (asked.method === 'POST') {
      calls.set(requestIn(asked).request_id, { body: asked.body, questions: 0 })
      response.writeHead(202).end()
      return
    }
    const call = calls.get(id)
    if (!call) response.writeHead(404).end()
    else if (behaviour === 'hang' || call.questions++ === 0) response.writeHead(202).end()
    else answering[behaviour]({ ...asked, body: call.body }, response, request)
  }
}

describeBackend(
  runner,
  'webhook that is asked again',
  (behaviour, clock) =>
    overHttp(createWebhookBackend, { ...answering, [behaviour]: polled(behaviour) })(behaviour, clock),
  showsRuntimeSemantics,
)
