/** "Auth Model" over HTTP: the Authorization header counts, the envelope's `auth` block does not. */
import { randomUUID } from 'node:crypto'
import { mustBeOneOf, mustEqual, should } from '../../assertions.ts'
import { NotApplicable } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import { mustFit, requireToken } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { startCall } from '../following.ts'
import type { OpenCallPart, Subject } from '../subject.ts'

const AUTH = { iss: 'https://auth.example.com', sub: 'user-123', credentialType: 'bearer', credential: 'eyJ-of-nobody' }

/** Returns an operation that needs a token. An operation without scopes may be public. */
async function guarded(server: Subject): Promise<OpenCallPart> {
  requireToken(server.target)
  const part = await server.part('sync')
  const { authScopes } = part.entry
  if (part.example.guarded || (Array.isArray(authScopes) && authScopes.length > 0)) return part
  const { status } = await server.invoke(part, {}, { anonymous: true })
  if (status === 200) throw new NotApplicable(`${part.op} needs no authentication.`)
  return part
}

export const authCases = [
  defineCase(
    'auth-block-is-optional',
    'an envelope with an auth block, with or without a credential, is served like one without',
    [42, 44, 231, 238],
    async (server) => {
      const part = await server.part('sync')
      const { credential: _, ...withoutCredential } = AUTH
      const results = []
      for (const auth of [undefined, AUTH, withoutCredential, { ...AUTH, credentialType: 'something-else' }]) {
        const { envelope } = await expectStatus(200, server.invoke(part, { ...(auth && { auth }) }))
        results.push(envelope.result)
      }
      for (const result of results) mustFit(part, result)
    },
  ),

  defineCase('auth-missing', 'without a credential a call is 401', [110], async (server) => {
    const part = await guarded(server)
    await expectStatus(401, server.invoke(part, {}, { anonymous: true }))
    const { status } = await server.send(`/ops/${randomUUID()}`, { anonymous: true })
    mustBeOneOf(status, [401, 404], 'status of a poll without a credential')
  }),

  defineCase('auth-invalid', 'with an unknown credential a call is 401', [110], async (server) => {
    const part = await guarded(server)
    const token = requireToken(server.target)
    const call = (authorization: string) => server.invoke(part, {}, { headers: { authorization } })
    await expectStatus(401, call(`Bearer ${token}x`), 'A call with a wrong token')
    await expectStatus(401, call('Bearer'), 'A call with no token after "Bearer"')
    for (const authorization of [`Basic ${token}`, token]) {
      const { status } = await call(authorization)
      should(status === 401, `A token that is not sent as "Bearer" gets ${status}, not 401.`)
    }
  }),

  defineCase(
    'auth-by-header-only',
    "over HTTP the Authorization header authenticates, and the envelope's auth block does not",
    [43, 232, 239, 299],
    async (server) => {
      const part = await guarded(server)
      const credential = requireToken(server.target)

      await expectStatus(401, server.invoke(part, { auth: { ...AUTH, credential } }, { anonymous: true }))
      const { envelope } = await expectStatus(200, server.invoke(part, { auth: AUTH }))

      mustEqual(envelope.state, 'complete', 'state')
      mustFit(part, envelope.result)
    },
  ),

  defineCase(
    'auth-for-the-outcome',
    'a call is visible to its caller, and not without a credential',
    [110],
    async (server) => {
      requireToken(server.target)
      const { ids } = await startCall(server, await server.part('async'))
      const path = `/ops/${ids.requestId}`

      const stranger = await server.send(path, { anonymous: true })
      const chunks = await server.send(`${path}/chunks`, { anonymous: true })

      for (const { status, asked } of [stranger, chunks])
        mustBeOneOf(status, [401, 403, 404], `status of ${asked} without a credential`)
    },
  ),
]
