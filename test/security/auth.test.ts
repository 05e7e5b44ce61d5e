import { afterAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../src/core/operation/operation.ts'
import {
  createAuthenticator,
  createToken,
  hashToken,
  readCredential,
  takeEnvironmentToken,
} from '../../src/security/identity/identify.ts'
import { scopesGuard } from '../../src/security/identity/scope-guard.ts'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { systemClock } from '../../src/server/build/environment.ts'

const remote = createRemoteClient()
afterAll(() => remote.close())

const headers = (fields: Record<string, string>) => (name: string) => fields[name]
const bearer = (token: string) => headers({ authorization: `Bearer ${token}` })
const apiKey = (token: string) => headers({ 'x-api-key': token })

describe('the credential of a request', () => {
  // opencall:043, opencall:232: the reading; that the server asks for it is proved over HTTP.
  test('is read from Authorization or X-API-Key', () => {
    expect(readCredential(headers({ authorization: 'bearer abc.def-_~+/==' }))).toEqual({
      scheme: 'bearer',
      token: 'abc.def-_~+/==',
    })
    expect(readCredential(headers({ 'x-api-key': ' key-1 ' }))).toEqual({ scheme: 'apiKey', token: 'key-1' })
    expect(readCredential(headers({}))).toBeUndefined()
  })

  test.each([
    { authorization: 'Basic YWRhOnNlY3JldA==' },
    { authorization: 'Bearer' },
    { authorization: 'Bearer two words' },
    { authorization: '' },
    { authorization: `Bearer ${'a'.repeat(20_000)}` },
    { 'x-api-key': '' },
    { authorization: 'Bearer one', 'x-api-key': 'two' },
  ])('in another form is refused with what is supported', (fields) => {
    expect(() => readCredential(headers(fields))).toThrow(
      expect.objectContaining({ kind: 'unauthenticated', message: expect.stringContaining('Authorization: Bearer') }),
    )
  })
})

describe('static tokens', () => {
  const ada = { subject: 'ada', scopes: ['orders:read'], kind: 'bearer' } as const

  test('are known by their hash alone, each in its own scheme', () => {
    const { token, hash } = createToken()
    const { authenticate } = createAuthenticator({ tokens: [{ ...ada, hash }], tenant: 'acme' }, systemClock, remote)

    expect(token).toMatch(/^cp_[\w-]{43}$/)
    expect(hash).toBe(hashToken(token))
    expect(hash).not.toContain(token)
    expect(authenticate(bearer(token))).toEqual({
      tenant: 'acme',
      issuer: 'callplane',
      subject: 'ada',
      scopes: ['orders:read'],
    })
    expect(() => authenticate(apiKey(token))).toThrow(expect.objectContaining({ kind: 'unauthenticated' }))
    expect(() => authenticate(bearer(hash.slice('sha256:'.length)))).toThrow(
      expect.objectContaining({ kind: 'unauthenticated' }),
    )
  })

  test('a text that was good before does for nothing else that is sent with it or elsewhere', () => {
    const { token, hash } = createToken()
    const { authenticate } = createAuthenticator({ tokens: [{ ...ada, hash }] }, systemClock, remote)
    const authorization = `Bearer ${token}`
    const known = authenticate(headers({ authorization }))

    expect(authenticate(headers({ authorization }))).toBe(known)
    for (const fields of [
      { authorization, 'x-api-key': token },
      { 'x-api-key': authorization },
      { authorization: `Bearer ${token}x` },
      { authorization: token },
      { authorization: '' },
    ]) {
      expect(() => authenticate(headers(fields))).toThrow(expect.objectContaining({ kind: 'unauthenticated' }))
    }
  })

  test('without a credential there is no caller, and the operation decides about that', () => {
    const { authenticate } = createAuthenticator(
      { tokens: [{ ...ada, hash: createToken().hash }] },
      systemClock,
      remote,
    )
    expect(authenticate(headers({}))).toBeUndefined()
  })

  test.each([
    ['bearer', bearer],
    ['apiKey', apiKey],
  ] as const)('stop at their expiry, and a wrong one is not echoed: %s', (kind, shown) => {
    const { token, hash } = createToken()
    const clock = { time: Date.parse('2026-12-31T23:59:59.999Z'), now: () => clock.time, monotonicMs: () => clock.time }
    const tokens = [{ ...ada, kind, hash, expiresAt: '2027-01-01' }]
    const { authenticate } = createAuthenticator({ tokens }, clock, remote)

    expect(authenticate(shown(token))).toMatchObject({ subject: 'ada' })
    clock.time++
    for (const _time of ['first', 'second']) {
      expect(() => authenticate(shown(token))).toThrow(
        expect.objectContaining({ kind: 'unauthenticated', details: { reason: 'expired' } }),
      )
    }
    expect(() => authenticate(shown('wrong-key-1234'))).toThrow(
      expect.objectContaining({ kind: 'unauthenticated', message: expect.not.stringContaining('wrong-key') }),
    )
  })

  test.each([
    ['a token instead of its hash', { hash: createToken().token }, /create a new one/],
    ['no subject', { subject: '' }, /subject/],
    ['an invalid date', { expiresAt: 'soon' }, /2027-01-31/],
  ])('a configuration with %s is refused', (_case, change, message) => {
    const tokens = [{ ...ada, hash: createToken().hash, ...change }]
    expect(() => createAuthenticator({ tokens }, systemClock, remote)).toThrow(message)
  })

  test('one from the environment is hashed and taken out of it', () => {
    const { token, hash } = createToken()
    const environment: Record<string, string> = { CALLPLANE_TOKEN: token, WEAK: 'hunter2' }

    expect(takeEnvironmentToken(environment, 'CALLPLANE_TOKEN', ada)).toEqual({ ...ada, hash })
    expect(environment).not.toHaveProperty('CALLPLANE_TOKEN')
    expect(takeEnvironmentToken(environment, 'CALLPLANE_TOKEN', ada)).toBeUndefined()
    expect(() => takeEnvironmentToken(environment, 'WEAK', ada)).toThrow(/WEAK is too short/)
  })
})

describe('scopes', () => {
  const operation = {
    name: { full: 'v1:orders.cancel' },
    scopes: ['orders:read', 'orders:write'],
  } as unknown as Operation
  const caller = (scopes: string[]) => ({ tenant: 'main', issuer: 'callplane', subject: 'ada', scopes })

  // opencall:240: the rule; that every transport applies it is proved over HTTP.
  test('all that an operation names are needed, and the refusal says which are missing', () => {
    expect(() => scopesGuard.admit?.(caller(['orders:read']), operation)).toThrow(
      expect.objectContaining({
        kind: 'forbidden',
        code: 'INSUFFICIENT_SCOPE',
        details: { required: ['orders:read', 'orders:write'], missing: ['orders:write'] },
      }),
    )
    expect(() => scopesGuard.admit?.(caller(['orders:write', 'orders:read']), operation)).not.toThrow()
  })

  test('* grants them all; a prefix of a scope grants nothing', () => {
    expect(() => scopesGuard.admit?.(caller(['*']), operation)).not.toThrow()
    expect(() => scopesGuard.admit?.(caller(['orders:*', 'orders']), operation)).toThrow(/orders:read, orders:write/)
  })
})
