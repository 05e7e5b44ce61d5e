/** "Operation Invocation Endpoint", and what one endpoint for everybody means. */
import { randomUUID } from 'node:crypto'
import { must, mustEqual } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'

export const endpointCases = [
  defineCase(
    'call-example',
    "the document's example of a call gets the document's example of an answer",
    [6, 94, 104, 193, 297],
    async (server) => {
      const { op } = await server.part('add')
      const requestId = randomUUID()
      const body = `{
  "op": "${op}",
  "args": { "a": 19.5, "b": 22.5 },
  "ctx": {
    "requestId": "${requestId}",
    "sessionId": "mission-001",
    "timeoutMs": 2500
  }
}`
      const headers = { 'content-type': 'application/json' }
      const sent = { requestId, sessionId: 'mission-001' }

      const { envelope } = await expectStatus(200, server.post(body, { headers }, sent))

      mustEqual(envelope.state, 'complete', 'state')
      mustEqual(envelope.result, 42, 'result')
    },
  ),

  defineCase(
    'call-takes-post-only',
    'GET /call is refused with Allow: POST and says where to go instead',
    [7, 8, 9, 10],
    async (server) => {
      const { headers, envelope } = await expectStatus(405, server.ask('/call'))

      mustEqual(headers.get('allow'), 'POST', 'Allow')
      const advice = JSON.stringify(envelope.error)
      must(advice.includes('POST /call'), `The error does not direct to POST /call: ${advice}`)
      must(advice.includes('/.well-known/ops'), `The error does not point to /.well-known/ops: ${advice}`)
    },
  ),

  defineCase(
    'methods-of-every-endpoint',
    'a method that an endpoint does not have is 405 with Allow, everywhere',
    [113],
    async (server) => {
      const id = randomUUID()
      const wrong = [
        ['PUT', '/call'],
        ['DELETE', '/call'],
        ['POST', `/ops/${id}`],
        ['POST', `/ops/${id}/chunks`],
        ['POST', '/.well-known/ops'],
      ] as const
      for (const [method, path] of wrong) {
        const { headers } = await expectStatus(405, server.ask(path, { method }))
        must(headers.has('allow'), `${method} ${path} is refused without an Allow header.`)
      }
    },
  ),

  defineCase(
    'one-contract-for-all-callers',
    'a browser and an agent send the same envelope and get the same envelope',
    [1],
    async (server) => {
      const { op } = await server.part('add')
      const asks = [
        { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'user-agent': 'Mozilla/5.0' },
        { accept: 'application/json', 'user-agent': 'an-agent/1.0' },
        { accept: '*/*' },
      ]
      for (const headers of asks) {
        const { envelope } = await expectStatus(200, server.call({ op, args: { a: 1, b: 2 } }, { headers }))
        mustEqual([envelope.state, envelope.result], ['complete', 3], 'state and result')
      }
    },
  ),

  defineCase(
    'commands-and-queries',
    'a command and a query are invoked the same way and answered in the same shape',
    [2],
    async (server) => {
      const query = await server.part('add')
      const command = await server.part('ring')
      mustEqual([query.sideEffecting, command.sideEffecting], [false, true], 'sideEffecting of the two')

      const asked = await expectStatus(200, server.call({ op: query.op, args: { a: 1, b: 2 } }))
      const done = await expectStatus(200, server.call({ op: command.op, args: { doorbell_id: 'doorbell42' } }))

      mustEqual([asked.envelope.state, done.envelope.state], ['complete', 'complete'], 'state of the two')
      mustEqual(done.envelope.result, { rung: 'doorbell42' }, 'result of the command')
    },
  ),

  defineCase(
    'always-json',
    'every endpoint answers JSON, whatever the caller would rather have',
    [298],
    async (server) => {
      const { op } = await server.part('add')
      const headers = { accept: 'text/html' }
      await server.call({ op, args: { a: 1, b: 2 } }, { headers })
      await server.call({ op: 'v1:No.SuchOperation' }, { headers })
      await server.ask(`/ops/${randomUUID()}`, { headers })
      await server.ask(`/ops/${randomUUID()}/chunks`, { headers })
      await server.ask('/call', { headers })
    },
  ),

  defineCase(
    'never-without-information',
    'whatever goes wrong, the answer is an envelope that says what',
    [3, 48, 103, 139],
    async (server) => {
      const { op } = await server.part('add')
      const headers = { 'content-type': 'application/json' }
      const refused = [
        await server.post('{"op":', { headers }),
        await server.post('', { headers }),
        await server.call({ op: 'v1:No.SuchOperation' }),
        await server.call({ op, args: { a: 'one' } }),
        await server.ask(`/ops/${randomUUID()}`),
        await server.ask(`/ops/${randomUUID()}/chunks`),
        await server.ask('/call'),
      ]
      const told = refused.map(({ asked, envelope }) => {
        mustEqual(envelope.state, 'error', `state of the answer to ${asked}`)
        const message = envelope.error?.message ?? ''
        must(message.split(/\s+/).length >= 3, `"${message}" (${asked}) does not say what went wrong.`)
        return message
      })
      must(new Set(told).size >= 5, `Different failures are told in the same words: ${[...new Set(told)].join(' | ')}`)
    },
  ),
]
