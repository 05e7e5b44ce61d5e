/**
 * Servers that require authentication. The call page specifies 400, the authentication page 401: a call may get either.
 */
import { mustBeOneOf } from '../../assertions.ts'
import { requireToken } from '../../parts.ts'
import { defineCase } from '../define.ts'

export const authCases = [
  defineCase('auth-missing', 'without a credential no tool is called or listed', [3, 29], async (server) => {
    requireToken(server.target)
    const tool = await server.part('sync')
    const { status } = await server.run(tool, {}, { anonymous: true })
    const list = await server.send('/tools', { anonymous: true })
    mustBeOneOf(status, [400, 401], 'status of a call without a credential')
    mustBeOneOf(list.status, [401], 'status of GET /tools without a credential')
  }),

  defineCase('auth-invalid', 'with an unknown credential no tool is called', [3, 29], async (server) => {
    const token = requireToken(server.target)
    const tool = await server.part('sync')
    for (const authorization of [`Bearer ${token}x`, 'Bearer', `Basic ${token}`]) {
      const headers = { authorization }
      const { status } = await server.run(tool, {}, { headers })
      mustBeOneOf(status, [400, 401], `status of a call with ${authorization.split(' ')[0]} nonsense`)
    }
  }),
]
