/** "Flow Details": one call and its response. */
import { randomUUID } from 'node:crypto'
import { must, mustBeText, mustEqual } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { mustFit, refusedArguments } from '../../parts.ts'
import { defineCase } from '../define.ts'

export const callCases = [
  defineCase('call', 'a call is 200 with its call_id, success and the value', [1, 2, 11], async (server) => {
    const tool = await server.part('sync')
    const call_id = randomUUID()
    const { result } = await expectStatus(200, server.run(tool, { call_id }))
    mustEqual([result.call_id, result.success], [call_id, true], 'call_id and success')
    mustFit(tool, result.value)
  }),

  defineCase('get-does-not-call', 'GET /tools/call calls nothing', [1], async (server) => {
    const { status } = await server.send('/tools/call')
    must(status >= 400, `GET /tools/call gets ${status}.`)
  }),

  defineCase('call-id-generated', 'a call without call_id gets a generated one', [2], async (server) => {
    const tool = await server.part('sync')
    const first = await expectStatus(200, server.run(tool))
    const second = await expectStatus(200, server.run(tool))
    must(
      mustBeText(first.result.call_id, 'call_id') !== mustBeText(second.result.call_id, 'call_id'),
      'Two calls got the same call_id.',
    )
  }),

  defineCase('call-id-repeated', 'a call sent again with its call_id does not run again', [2], async (server) => {
    const tool = await server.part('effect')
    const call_id = randomUUID()
    const first = await expectStatus(200, server.run(tool, { call_id }))
    const again = await expectStatus(200, server.run(tool, { call_id }))
    mustEqual(again.result.value, first.result.value, 'value of the repeated call')
  }),

  defineCase('unknown-field', 'an unknown field of a call is 400', [2, 24], async (server) => {
    const tool = await server.part('sync')
    await expectStatus(400, server.run(tool, { parameters: {} }))
  }),

  defineCase(
    'version-not-stated',
    'without OXP-Version the latest version is assumed, and with it the requested one',
    [6],
    async (server) => {
      const tool = await server.part('sync')
      await expectStatus(200, server.run(tool))
      await expectStatus(200, server.run(tool, {}, { headers: { 'OXP-Version': '1.0' } }))
    },
    'oxp',
  ),

  defineCase(
    'schema-not-stated',
    'without $schema the latest version is assumed, and the response is wrapped',
    [10],
    async (server) => {
      const tool = await server.part('sync')
      const { result } = await expectStatus(200, server.post({ request: { tool_id: tool.op, input: tool.args } }))
      mustEqual(result.success, true, 'success')
      mustFit(tool, result.value)
    },
    'otc',
  ),

  defineCase(
    'version-header',
    'responses of every class have OXP-Version',
    [15, 16, 17],
    async (server) => {
      const tool = await server.part('sync')
      const answers = [
        await expectStatus(200, server.run(tool)),
        await expectStatus(400, server.call({ tool_id: 'No.SuchTool', input: {} })),
      ]
      const [invalid] =
        server.target.operations?.validated === undefined ? [] : refusedArguments(await server.part('validated'))
      if (invalid) {
        answers.push(await expectStatus(422, server.run(await server.part('validated'), { input: invalid.args })))
      }
      for (const { headers, status } of answers) mustBeText(headers.get('oxp-version'), `OXP-Version of the ${status}`)
    },
    'oxp',
  ),
]
