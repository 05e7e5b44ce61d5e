/** "Flow Details": one call, and what comes back. */
import { randomUUID } from 'node:crypto'
import { must, mustBeText, mustEqual } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'

export const callCases = [
  defineCase('call', 'a call is 200 with its call_id, success and the value', [1, 2, 11], async (server) => {
    const tool = await server.part('add')
    const call_id = randomUUID()
    const { result } = await expectStatus(200, server.call({ call_id, tool_id: tool, input: { a: 10, b: 5 } }))
    mustEqual([result.call_id, result.success, result.value], [call_id, true, 15], 'call_id, success and value')
  }),

  defineCase('get-does-not-call', 'GET /tools/call calls nothing', [1], async (server) => {
    const { status } = await server.send('/tools/call')
    must(status >= 400, `GET /tools/call is answered ${status}.`)
  }),

  defineCase('call-id-generated', 'a call without call_id is given one of its own', [2], async (server) => {
    const tool = await server.part('add')
    const call = { tool_id: tool, input: { a: 1, b: 2 } }
    const first = await expectStatus(200, server.call(call))
    const second = await expectStatus(200, server.call(call))
    must(
      mustBeText(first.result.call_id, 'call_id') !== mustBeText(second.result.call_id, 'call_id'),
      'Two calls were given the same call_id.',
    )
  }),

  defineCase('call-id-repeated', 'a call sent again with its call_id does not run again', [2], async (server) => {
    const tool = await server.part('note')
    const call = { call_id: randomUUID(), tool_id: tool, input: { text: 'once' } }
    const first = await expectStatus(200, server.call(call))
    const again = await expectStatus(200, server.call(call))
    mustEqual(again.result.value, first.result.value, 'value of the repeated call')
  }),

  defineCase('unknown-field', 'a field that a call has not is 400', [2, 24], async (server) => {
    const tool = await server.part('add')
    await expectStatus(400, server.call({ tool_id: tool, input: { a: 1, b: 2 }, parameters: {} }))
  }),

  defineCase(
    'version-not-stated',
    'without OXP-Version the latest version is assumed, and with it the one asked for',
    [6],
    async (server) => {
      const tool = await server.part('add')
      const call = { tool_id: tool, input: { a: 1, b: 2 } }
      await expectStatus(200, server.call(call))
      await expectStatus(200, server.call(call, { headers: { 'OXP-Version': '1.0' } }))
    },
    'oxp',
  ),

  defineCase(
    'schema-not-stated',
    'without $schema the latest version is assumed, and the answer is wrapped',
    [10],
    async (server) => {
      const tool = await server.part('add')
      const { result } = await expectStatus(200, server.post({ request: { tool_id: tool, input: { a: 1, b: 2 } } }))
      mustEqual(result.value, 3, 'value')
    },
    'otc',
  ),

  defineCase(
    'version-header',
    'answers of every class carry OXP-Version',
    [15, 16, 17],
    async (server) => {
      const tool = await server.part('add')
      const answers = [
        await expectStatus(200, server.call({ tool_id: tool, input: { a: 1, b: 2 } })),
        await expectStatus(400, server.call({ tool_id: 'No.SuchTool', input: {} })),
        await expectStatus(422, server.call({ tool_id: tool, input: { a: 1, b: 'infinity' } })),
      ]
      for (const { headers, status } of answers) mustBeText(headers.get('oxp-version'), `OXP-Version of the ${status}`)
    },
    'oxp',
  ),
]
