/** "Error Behavior": three classes of failure, each with its own status and shape. */
import { must, mustBeObject, mustBeText, mustEqual } from '../../assertions.ts'
import { NotApplicable } from '../../case.ts'
import { expectStatus, parseJson } from '../../http.ts'
import { refusedArguments } from '../../parts.ts'
import { defineCase } from '../define.ts'

export const errorCases = [
  defineCase('three-classes', 'the three classes of failure can be told apart', [12, 23, 42], async (server) => {
    const validated = await server.part('validated')
    const [wrong] = refusedArguments(validated)
    const failing = await server.part('failing')

    const refused = await expectStatus(400, server.call({ tool_id: 'No.SuchTool' }))
    const invalid = await expectStatus(422, server.run(validated, { input: wrong?.args }))
    const failed = await expectStatus(200, server.run(failing, { input: failing.example.fails?.args ?? failing.args }))

    must(!('parameter_errors' in refused.body), 'A server error has parameter_errors.')
    must(!('missing_requirements' in invalid.body), 'A validation error has missing_requirements.')
    mustEqual(failed.result.success, false, 'success')
  }),

  defineCase(
    'execution-error',
    'a tool that fails is 200 with success: false and an error',
    [12, 42],
    async (server) => {
      const tool = await server.part('failing')
      const input = tool.example.fails?.args ?? tool.args
      const { result } = await expectStatus(200, server.run(tool, { input }))
      mustEqual(result.success, false, 'success')
      mustBeText(mustBeObject(result.error, 'error').message, 'error.message')
    },
  ),

  defineCase(
    'input-not-valid',
    'input that breaks the schema is 422, missing input included',
    [14, 39, 40],
    async (server) => {
      const tool = await server.part('validated')
      for (const { args } of refusedArguments(tool)) await expectStatus(422, server.run(tool, { input: args }))
      if (!Array.isArray((tool.argsSchema as { required?: unknown }).required)) return
      await expectStatus(422, server.call({ tool_id: tool.op, input: {} }))
      await expectStatus(422, server.call({ tool_id: tool.op }))
    },
  ),

  defineCase('parameter-errors', 'parameter_errors, if present, name the parameter', [41], async (server) => {
    const tool = await server.part('validated')
    const [wrong] = refusedArguments(tool)
    const at = wrong?.at ?? ''
    const { body } = await expectStatus(422, server.run(tool, { input: wrong?.args }))
    if (body.parameter_errors === undefined) {
      throw new NotApplicable('The server sends no parameter_errors, which are optional.')
    }
    const errors = mustBeObject(body.parameter_errors, 'parameter_errors')
    mustEqual(Object.keys(errors), [at], 'names in parameter_errors')
    mustBeText(errors[at], `parameter_errors.${at}`)
  }),

  defineCase('input-not-an-object', 'input that is not an object is refused', [24], async (server) => {
    const tool = await server.part('sync')
    for (const input of [[], 'a', 7]) await expectStatus(400, server.run(tool, { input }))
  }),

  defineCase('message-for-people', 'a server error has a message for people', [30, 31, 32, 33], async (server) => {
    const { body } = await expectStatus(400, server.call({ tool_id: 'No.SuchTool' }))
    const message = mustBeText(body.message, 'message')
    must(!/\n\s+at |node_modules|Traceback|\.(?:ts|js|py|go):\d+/.test(message), `message shows code: ${message}`)
    must(body.developer_message !== message, 'message and developer_message are the same text.')
  }),

  defineCase('protocol-version', 'a version of the protocol that is not supported is 400', [26], async (server) => {
    const tool = await server.part('sync')
    const call = { tool_id: tool.op, input: tool.args }
    if (server.dialect === 'otc') await expectStatus(400, server.post({ $schema: 'otc://9.0', request: call }))
    else await expectStatus(400, server.call(call, { headers: { 'OXP-Version': '9.0' } }))
  }),

  defineCase(
    'authorization-challenge',
    'a tool that needs an authorization returns its URL and a URL for its status',
    [34, 37],
    async (server) => {
      const tool = (await server.list()).find(({ requirements }) => needsAuthorization(requirements))
      if (!tool) throw new NotApplicable('No tool of this server requires an authorization.')
      const { body } = await expectStatus(400, server.call({ tool_id: tool.id }))
      const { authorization } = mustBeObject(body.missing_requirements, 'missing_requirements')
      must(Array.isArray(authorization) && authorization.length > 0, 'missing_requirements has no authorization.')
      for (const entry of authorization) {
        const { id, url, check_url: check } = mustBeObject(entry, 'authorization')
        mustBeText(id, 'id')
        must(URL.canParse(mustBeText(url, 'url')), `${String(url)} is not a URL.`)
        if (check === undefined) continue
        const { status } = parseJson(await expectStatus(200, server.send(mustBeText(check, 'check_url'))))
        must(/^(?:pending|completed|failed)$/.test(mustBeText(status, 'status')), `status is ${String(status)}.`)
      }
    },
    'oxp',
  ),
]

function needsAuthorization(requirements: unknown): boolean {
  const { authorization } = (requirements ?? {}) as { authorization?: unknown[] }
  return Array.isArray(authorization) && authorization.length > 0
}
