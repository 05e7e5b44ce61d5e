/** "Auth Model" over HTTP: the Authorization header counts, the envelope's `auth` block does not. */
import { randomUUID } from 'node:crypto'
import { mustBeOneOf, mustEqual } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'
import type { Subject } from '../subject.ts'

const AUTH = { iss: 'https://auth.example.com', sub: 'user-123', credentialType: 'bearer', credential: 'eyJ-of-nobody' }

function requireToken(server: Subject): string {
  const { token } = server.target
  if (token === undefined) throw new Skip('No token was given, so there is no authentication to judge.')
  return token
}

export const authCases = [
  defineCase(
    'auth-block-is-optional',
    'an envelope with an auth block, with or without a credential, is served like one without',
    [42, 44, 231, 238],
    async (server) => {
      const { op } = await server.part('add')
      const { credential: _, ...withoutCredential } = AUTH
      for (const auth of [undefined, AUTH, withoutCredential, { ...AUTH, credentialType: 'something-else' }]) {
        const sent = { op, args: { a: 1, b: 2 }, ...(auth && { auth }) }
        const { envelope } = await expectStatus(200, server.call(sent))
        mustEqual(envelope.result, 3, 'result')
      }
    },
  ),

  defineCase('auth-missing', 'without a credential a call is 401', [110], async (server) => {
    requireToken(server)
    const { op } = await server.part('add')
    await expectStatus(401, server.call({ op, args: { a: 1, b: 2 } }, { anonymous: true }))
    await expectStatus(401, server.ask(`/ops/${randomUUID()}`, { anonymous: true }))
  }),

  defineCase('auth-invalid', 'with a credential nobody gave out a call is 401', [110], async (server) => {
    const token = requireToken(server)
    const { op } = await server.part('add')
    for (const authorization of [`Bearer ${token}x`, 'Bearer', `Basic ${token}`, token]) {
      await expectStatus(401, server.call({ op, args: { a: 1, b: 2 } }, { headers: { authorization } }))
    }
  }),

  defineCase(
    'auth-by-header-only',
    "over HTTP the Authorization header authenticates, and the envelope's auth block does not",
    [43, 232, 239, 299],
    async (server) => {
      const credential = requireToken(server)
      const { op } = await server.part('add')
      const call = { op, args: { a: 1, b: 2 } }

      await expectStatus(401, server.call({ ...call, auth: { ...AUTH, credential } }, { anonymous: true }))
      const { envelope } = await expectStatus(200, server.call({ ...call, auth: AUTH }))

      mustEqual(envelope.result, 3, 'result')
    },
  ),

  defineCase(
    'auth-for-the-outcome',
    'a call is found by its caller, and by nobody without a credential',
    [110],
    async (server) => {
      requireToken(server)
      const { op } = await server.part('report')
      const { envelope } = await expectStatus(202, server.call({ op, args: { month: '2026-01', steps: 1 } }))
      const path = `/ops/${envelope.requestId}`

      const stranger = await server.ask(path, { anonymous: true })
      const chunks = await server.ask(`${path}/chunks`, { anonymous: true })

      for (const { status, asked } of [stranger, chunks])
        mustBeOneOf(status, [401, 404], `status of ${asked} for nobody`)
    },
  ),
]
