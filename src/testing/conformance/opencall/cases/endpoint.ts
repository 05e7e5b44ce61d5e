/** "Operation Invocation Endpoint", and the consequences of one endpoint for all callers. */
import { randomUUID } from 'node:crypto'
import { must, mustEqual, should } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { mustFit } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { NO_OPERATION } from '../subject.ts'

export const endpointCases = [
  defineCase(
    'call-example',
    'a call written as in the specification gets 200, complete, with its result',
    [6, 94, 104, 193, 297],
    async (server) => {
      const part = await server.part('sync')
      const requestId = randomUUID()
      const body = `{
  "op": "${part.op}",
  "args": ${JSON.stringify(part.args)},
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
      mustFit(part, envelope.result)
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
    'a method that an endpoint does not have is 405, everywhere',
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
      const answers = []
      for (const [method, path] of wrong) answers.push(await expectStatus(405, server.send(path, { method })))
      for (const { headers, asked } of answers) {
        should(
          headers.has('allow'),
          `${asked} is refused without an Allow header (RFC 9110, "405 Method Not Allowed").`,
        )
      }
    },
  ),

  defineCase(
    'one-contract-for-all-callers',
    'a browser and an agent send the same envelope and get the same envelope',
    [1],
    async (server) => {
      const part = await server.part('sync')
      const asks = [
        { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'user-agent': 'Mozilla/5.0' },
        { accept: 'application/json', 'user-agent': 'an-agent/1.0' },
        { accept: '*/*' },
      ]
      const results = []
      for (const headers of asks) {
        const { envelope } = await expectStatus(200, server.invoke(part, {}, { headers }))
        mustEqual(envelope.state, 'complete', 'state')
        results.push(envelope.result)
      }
      for (const result of results) mustFit(part, result)
    },
  ),

  defineCase(
    'commands-and-queries',
    'a command and a query are invoked the same way and get responses of the same shape',
    [2],
    async (server) => {
      const query = await server.part('sync')
      const command = await server.part('effect')
      mustEqual([query.entry.sideEffecting, command.entry.sideEffecting], [false, true], 'sideEffecting of the two')

      const asked = await expectStatus(200, server.invoke(query))
      const done = await expectStatus(200, server.invoke(command))

      mustEqual([asked.envelope.state, done.envelope.state], ['complete', 'complete'], 'state of the two')
    },
  ),

  defineCase('always-json', 'every endpoint responds with JSON, whatever the caller accepts', [298], async (server) => {
    const headers = { accept: 'text/html' }
    await server.call({ op: NO_OPERATION }, { headers })
    await server.ask(`/ops/${randomUUID()}`, { headers })
    await server.ask(`/ops/${randomUUID()}/chunks`, { headers })
    await server.ask('/call', { headers })
    await server.invoke(await server.part('sync'), {}, { headers })
  }),

  defineCase(
    'never-without-information',
    'the response to any failure is an envelope that says what went wrong',
    [3, 48, 103, 139],
    async (server) => {
      const headers = { 'content-type': 'application/json' }
      const refused = [
        await server.post('{"op":', { headers }),
        await server.post('', { headers }),
        await server.call({ op: NO_OPERATION }),
        await server.ask(`/ops/${randomUUID()}`),
        await server.ask(`/ops/${randomUUID()}/chunks`),
        await server.ask('/call'),
      ]
      for (const { asked, envelope } of refused) mustEqual(envelope.state, 'error', `state of the response to ${asked}`)
      const told = refused.map(({ asked, envelope }) => {
        const message = envelope.error?.message ?? ''
        should(message.split(/\s+/).length >= 3, `"${message}" (${asked}) does not say what went wrong.`)
        return message.replace(/[0-9a-f-]{36}/g, '')
      })
      should(new Set(told).size >= 3, `Different failures have the same message: ${[...new Set(told)].join(' | ')}`)
    },
  ),
]
