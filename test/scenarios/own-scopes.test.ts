/** What each of the server's built-in scopes permits and does not permit. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import { hasScope, SCOPES } from '../../src/core/operation/scopes.ts'
import { startSite } from './server.ts'

const APPROVALS = ['v1:callplane.approvals.list', 'v1:callplane.approvals.get', 'v1:callplane.approvals.decide']
const AUDIT = 'v1:callplane.audit.list'
const NODES = 'v1:callplane.nodes.list'
const OPERATION = 'v1:callplane.operations.get'
const DEAD = 'v1:callplane.deadletters.list'
const OPERATE = ['v1:callplane.calls.cancel', 'v1:callplane.deadletters.dismiss']
const CHANGES = ['v1:callplane.changes.wait', 'v1:callplane.changes.watch']
const EXPORT = 'v1:callplane.exports.create'
const SERIES = 'v1:callplane.metrics.series'
const REPLAY = 'v1:callplane.calls.replay'
const CALLS = ['v1:callplane.calls.count', 'v1:callplane.calls.get', 'v1:callplane.calls.list']
const PAYLOAD = 'v1:callplane.calls.payload'

/** They need no scope, and are listed beside others. */
const FOR_ALL = ['v1:callplane.calls.check', 'v1:callplane.faults.list', 'v1:callplane.whoami']

const OPENS: Readonly<Record<string, readonly string[]>> = {
  '*': [],
  [SCOPES.admin]: [
    ...APPROVALS,
    AUDIT,
    NODES,
    OPERATION,
    DEAD,
    ...OPERATE,
    REPLAY,
    ...CALLS,
    PAYLOAD,
    ...CHANGES,
    EXPORT,
    SERIES,
  ],
  [SCOPES.approve]: APPROVALS,
  [SCOPES.audit]: [AUDIT],
  [SCOPES.read]: [AUDIT, NODES, OPERATION, DEAD, ...CALLS, ...CHANGES, EXPORT, SERIES],
  [SCOPES.metrics]: [],
  [SCOPES.payloads]: [PAYLOAD],
  [SCOPES.operate]: OPERATE,
  [SCOPES.replay]: [REPLAY],
}

test.each(Object.entries(OPENS))('%s opens the operations it is for, and hides the others', async (scope, open) => {
  const { token, hash } = createToken()
  const site = await startSite({
    operations: [operation('v1:plain', { run: () => null })],
    auth: { tokens: [{ hash, kind: 'bearer', subject: 'one', scopes: [scope] }] },
  })
  const headers = { Authorization: `Bearer ${token}` }

  const registry = await fetch(`${site.url}/.well-known/ops`, { headers })
  const listed = (await registry.json()) as { operations: { op: string }[] }
  const names = listed.operations.map(({ op }) => op).filter((op) => op.startsWith('v1:callplane.'))
  const forAll = open.length > 0 ? FOR_ALL : []
  expect(names.sort()).toEqual([...open, ...forAll].sort())

  for (const name of OPENS[SCOPES.admin] ?? []) {
    const { body } = await site.call(name, { id: 'none', verdict: 'deny' }, {}, { headers })
    // Past the scope, the arguments that the operation does not have are what is wrong.
    if (open.includes(name)) expect(body.error?.code).not.toBe('UNKNOWN_OP')
    else expect(body.error?.code).toBe('UNKNOWN_OP')
  }
})

test('callplane:admin covers every scope of the server, * covers none of them, and no other covers admin', () => {
  const having = (...scopes: string[]) => ({ tenant: 'main', issuer: 'i', subject: 's', scopes })
  const { admin, ...others } = SCOPES
  for (const scope of Object.values(others)) {
    expect(hasScope(having(admin), scope)).toBe(true)
    expect(hasScope(having('*'), scope)).toBe(false)
    expect(hasScope(having(scope), admin)).toBe(false)
    expect(hasScope(having(scope), 'orders:read')).toBe(false)
  }
  expect(hasScope(having('*'), admin)).toBe(false)
  expect(hasScope(having(SCOPES.audit), SCOPES.read)).toBe(false)
})
