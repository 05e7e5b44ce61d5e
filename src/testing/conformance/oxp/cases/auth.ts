/** Servers that require authentication. The call page says 400, the authentication page 401: either will do for a call. */
import { mustBeOneOf } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { defineCase } from '../define.ts'
import type { Subject } from '../subject.ts'

function requireToken(server: Subject): string {
  const { token } = server.target
  if (token === undefined) throw new Skip('No token was given, so there is no authentication to judge.')
  return token
}

export const authCases = [
  defineCase('auth-missing', 'without a credential nothing is called or listed', [3, 29], async (server) => {
    requireToken(server)
    const tool = await server.part('add')
    const { status } = await server.call({ tool_id: tool, input: { a: 1, b: 2 } }, { anonymous: true })
    const list = await server.send('/tools', { anonymous: true })
    mustBeOneOf(status, [400, 401], 'status of a call without a credential')
    mustBeOneOf(list.status, [401], 'status of GET /tools without a credential')
  }),

  defineCase('auth-invalid', 'with a credential nobody gave out nothing is called', [3, 29], async (server) => {
    const token = requireToken(server)
    const tool = await server.part('add')
    for (const authorization of [`Bearer ${token}x`, 'Bearer', `Basic ${token}`]) {
      const headers = { authorization }
      const { status } = await server.call({ tool_id: tool, input: { a: 1, b: 2 } }, { headers })
      mustBeOneOf(status, [400, 401], `status of a call with ${authorization.split(' ')[0]} nonsense`)
    }
  }),
]
