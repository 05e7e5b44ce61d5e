/** The later revision: what a server offers of it must work. A server that offers none of it has nothing to check. */
import { createHash, randomUUID } from 'node:crypto'
import { canonicalJson, type JsonObject } from '../../../../core/json.ts'
import { must, mustBeObject, mustBeText, mustEqual, should } from '../../assertions.ts'
import { NotApplicable } from '../../case.ts'
import { alone } from '../../define.ts'
import { expectStatus, parseJson } from '../../http.ts'
import { mustFit } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { NO_OPERATION, type OpenCallPart, type Subject } from '../subject.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** `/ops/orders/getItem/v1` for `v1:orders.getItem`. */
function pathOf(op: string): string {
  const [version, name = ''] = op.split(':')
  return `/ops/${name.replaceAll('.', '/')}/${version}`
}

async function offered(server: Subject, field: string): Promise<unknown> {
  const value = (await server.registry())[field]
  if (value === undefined) throw new NotApplicable(`The registry has no ${field}, so the server has no later revision.`)
  return value
}

function postTo(server: Subject, path: string, envelope: object) {
  return server.ask(path, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(envelope) })
}

export const laterCases = [
  defineCase(
    'later-path',
    'an operation answers at its own path as it does at /call, if the registry names that endpoint',
    [4],
    async (server) => {
      const endpoints = await offered(server, 'endpoints')
      must(Array.isArray(endpoints) && endpoints.includes('rpc'), 'endpoints is not a list with "rpc" in it.')
      if (!endpoints.includes('path')) throw new NotApplicable('The registry does not name the endpoint "path".')
      const { op, args, ...part }: OpenCallPart = await server.part('sync')
      const path = pathOf(op)
      const { envelope } = await expectStatus(200, postTo(server, path, { args }))
      mustEqual(envelope.state, 'complete', 'state')
      mustFit({ op, args, ...part }, envelope.result)
      await expectStatus(400, postTo(server, path, { op: NO_OPERATION, args }), 'A path and an "op" that disagree')
      await expectStatus(400, postTo(server, pathOf(NO_OPERATION), { args }), 'The path of an unknown operation')
    },
    'should',
  ),

  defineCase(
    'later-hash',
    'schemaHash is the hash of the registry without it, and its ETag',
    [281],
    async (server) => {
      await offered(server, 'schemaHash')
      const answer = await server.send('/.well-known/ops', { headers: { 'accept-encoding': 'identity' } })
      const { schemaHash, ...document } = parseJson(answer)
      const hash = createHash('sha256')
        .update(canonicalJson(document as JsonObject))
        .digest('hex')
      mustEqual(schemaHash, `sha256:${hash}`, 'schemaHash')
      should(answer.headers.get('etag') === `"${String(schemaHash)}"`, 'The ETag is not schemaHash.')
    },
    'should',
  ),

  defineCase(
    'later-errors',
    'the list of errors has the code and the status of a refusal',
    [103],
    async (server) => {
      const url = mustBeText(await offered(server, 'errorsUrl'), 'errorsUrl')
      // A path starts at the root of the host, and the target may be below it.
      const place = new URL(url, server.target.url).href
      const { service, operations } = parseJson(await expectStatus(200, server.send(place)))
      must(Array.isArray(service), 'service is not a list.')
      mustBeObject(operations, 'operations')
      const entries = service.map((entry) => mustBeObject(entry, 'An entry of service'))
      const refused = await server.call({ op: NO_OPERATION })
      const entry = entries.find(({ code }) => code === refused.envelope.error?.code)
      must(entry !== undefined, `${refused.envelope.error?.code} is not in the list.`)
      mustEqual(entry.httpStatus, refused.status, 'httpStatus')
      mustBeText(entry.message, 'message')
      mustEqual(entry.retryable, false, 'retryable of an unknown operation')
    },
    'should',
  ),

  alone(
    defineCase(
      'later-key-header',
      'the header Idempotency-Key is the key of the call',
      [37],
      async (server) => {
        await offered(server, 'endpoints')
        const { op, args } = await server.part('effect')
        const headers = { 'idempotency-key': randomUUID() }
        const first = await expectStatus(200, server.call({ op, args }, { headers }))
        const again = await expectStatus(200, server.call({ op, args }, { headers }))
        mustEqual(first.envelope.state, 'complete', 'state')
        mustEqual(again.envelope.result, first.envelope.result, 'The result of a repeat')
      },
      'should',
    ),
  ),
]
