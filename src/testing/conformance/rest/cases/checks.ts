/** "Precondition Checks", in order and with their exact bodies. */
import { mustEqual } from '../../assertions.ts'
import { NotApplicable, Skip } from '../../case.ts'
import { textOf } from '../../http.ts'
import { requireToken } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { type Answered, DISABLED, NO_TOOL, type Subject } from '../subject.ts'

const UNAUTHORIZED = { error: 'Unauthorized' }

/** Exactly these members and texts. White space may differ. */
function mustBeExactly(answer: Answered, status: number, body: object): void {
  mustEqual(answer.status, status, `status of ${answer.asked}`)
  mustEqual(answer.body, body, `body of ${answer.asked} (${textOf(answer).slice(0, 200)})`)
}

async function mustRun(server: Subject): Promise<void> {
  const { status, body } = await server.attempt(NO_TOOL)
  if (status === 403 && body.error === DISABLED.error) throw new Skip('Tool execution is disabled on this server.')
}

export const checkCases = [
  defineCase('unknown-tool', 'an unknown tool is 404, with this exact text', [11, 12, 33, 52, 57], async (server) => {
    await mustRun(server)
    mustBeExactly(await server.attempt(NO_TOOL), 404, { error: `Tool not found: ${NO_TOOL}` })
  }),

  defineCase('names-are-decoded', 'the name in the path is taken literally once decoded', [12, 52], async (server) => {
    await mustRun(server)
    for (const name of ['no/such', '..', '🦊', 'a b', '"<b>', '__proto__']) {
      const escaped = name === '..' ? '%2E%2E%2F' : encodeURIComponent(name)
      mustBeExactly(await server.attempt(escaped), 404, { error: `Tool not found: ${decodeURIComponent(escaped)}` })
    }
  }),

  defineCase('lookup-before-the-rest', 'an unknown tool is 404 for any body and any caller', [7, 8], async (server) => {
    await mustRun(server)
    const request = { anonymous: true, headers: { authorization: 'Bearer wrong' } }
    mustBeExactly(await server.attempt(NO_TOOL, '{bad', request), 404, { error: `Tool not found: ${NO_TOOL}` })
  }),

  defineCase(
    'execution-disabled',
    'if execution is disabled, every call is 403 with this exact text, even with other problems',
    [7, 8, 9, 10, 51, 58],
    async (server) => {
      const { path: tool, body: args } = await server.part('sync')
      const answer = await server.attempt(tool, args)
      if (answer.status === 200) throw new NotApplicable('Tool execution is enabled on this server.')

      mustBeExactly(answer, 403, DISABLED)
      mustBeExactly(await server.attempt(NO_TOOL), 403, DISABLED)
      mustBeExactly(await server.attempt(tool, '{bad', { anonymous: true }), 403, DISABLED)
    },
  ),

  defineCase(
    'auth-rejected',
    'a rejected caller gets 401 Unauthorized and nothing else, and the tool does not run',
    [14, 15, 53],
    async (server) => {
      requireToken(server.target)
      await mustRun(server)
      const { path, body } = await server.part('sync')
      mustBeExactly(await server.attempt(path, body, { anonymous: true }), 401, UNAUTHORIZED)
      const wrong = { anonymous: true, headers: { authorization: 'Bearer wrong' } }
      mustBeExactly(await server.attempt(path, body, wrong), 401, UNAUTHORIZED)
    },
  ),

  defineCase('auth-after-parsing', 'a body that is not JSON does not change who may call', [7], async (server) => {
    requireToken(server.target)
    await mustRun(server)
    const { path } = await server.part('sync')
    mustBeExactly(await server.attempt(path, '{bad', { anonymous: true }), 401, UNAUTHORIZED)
  }),
]
