import { describe, expect, test } from 'vitest'
import type { Fault } from '../../src/core/fault.ts'
import type { Decision } from '../../src/core/ports/guard.ts'
import { denied } from '../../src/engine/admit/verdicts.ts'
import { CODES, codeOf } from '../../src/protocols/contract/faults.ts'
import { checkOperations, createPolicyGuard } from '../../src/security/policy/guard.ts'
import { parsePolicy } from '../../src/security/policy/parse.ts'
import { verifies } from '../requirements.ts'
import { aCaller, anOperation, decide } from './policy-calls.ts'

const thrownBy = (run: () => unknown): Fault => {
  try {
    run()
  } catch (thrown) {
    return thrown as Fault
  }
  throw new Error('It passed.')
}

describe('verdicts', () => {
  const rules = {
    allow: { id: 'may', effect: 'allow', what: { operation: 'v1:orders.*' } },
    approve: { id: 'ask', effect: 'approve', what: { operation: 'v1:orders.*' } },
    deny: { id: 'never', effect: 'deny', what: { operation: '*' }, reason: 'Not today.' },
  }

  test('denial wins over approval, and approval over permission', () => {
    const { allow, approve, deny } = rules

    expect(decide({ default: 'deny', rules: [allow] }, 'v1:orders.get')).toEqual({
      verdict: 'allow',
      rule: 'policy#may',
    })
    expect(decide({ default: 'deny', rules: [allow, approve] }, 'v1:orders.get')).toEqual({
      verdict: 'hold',
      rule: 'policy#ask',
      selfApproval: false,
    })
    expect(decide({ default: 'allow', rules: [deny, allow, approve] }, 'v1:orders.get')).toEqual({
      verdict: 'deny',
      rule: 'policy#never',
      reason: 'Not today.',
    })
  })

  test('a call that no rule matches gets the default, and the decision names it', () => {
    const decided = (fallback: string) => decide({ default: fallback, rules: [rules.allow] }, 'v1:other.get')

    expect(decided('allow')).toEqual({ verdict: 'allow', rule: 'policy#default' })
    expect(decided('approve')).toMatchObject({ verdict: 'hold', rule: 'policy#default' })
    expect(decided('deny')).toEqual({
      verdict: 'deny',
      rule: 'policy#default',
      reason: 'No rule of the policy allows it.',
    })
  })

  test('a denial is retryable only if every rule that denies the call says so', () => {
    const soon = { id: 'z-soon', effect: 'deny', retryable: true }

    expect(decide({ default: 'allow', rules: [soon] }, 'v1:a')).toMatchObject({ verdict: 'deny', retryable: true })
    expect(decide({ default: 'allow', rules: [soon, rules.deny] }, 'v1:a')?.retryable).toBeUndefined()
  })

  test('a denial is one in the words of the Tool Contract, final unless the policy says otherwise, and names its rule', () => {
    verifies('contract:049', 'contract:058', 'contract:068', 'contract:069', 'contract:070', 'contract:071')
    const faultOf = (policy: object) => denied(anOperation('v1:a'), decide(policy, 'v1:a') as Decision)

    const final = faultOf({ default: 'allow', rules: [rules.deny] })
    const passing = faultOf({ default: 'allow', rules: [{ ...rules.deny, retryable: true }] })

    expect(codeOf(final.kind)).toBe('permission_denied')
    expect(CODES.permission_denied).toMatchObject({ reason: 'tool_permission_denied', status: 'denied' })
    expect(final.details).toEqual({ policy_ref: 'policy', rule: 'policy#never' })
    expect([final.retryable, passing.retryable]).toEqual([false, true])
  })

  test('of several rules that ask for approval the strictest terms count', () => {
    const short = { id: 'short', effect: 'approve', approval: { ttlSeconds: 60, selfApproval: true } }
    const long = { id: 'long', effect: 'approve', approval: { ttlSeconds: 600 } }

    expect(decide({ default: 'allow', rules: [short] }, 'v1:a')).toMatchObject({
      approvalTtlMs: 60_000,
      selfApproval: true,
    })
    expect(decide({ default: 'allow', rules: [short, long] }, 'v1:a')).toEqual({
      verdict: 'hold',
      rule: 'policy#long',
      approvalTtlMs: 60_000,
      selfApproval: false,
    })
  })
})

describe('who', () => {
  const admits = (who: object, caller = aCaller('ann'), roles?: object) =>
    decide({ default: 'deny', ...(roles && { roles }), rules: [{ id: 'r', effect: 'allow', who }] }, 'v1:a', caller)
      ?.verdict === 'allow'

  test('is a subject, an issuer, a claim, or all of what is given', () => {
    const ann = aCaller('ann', { groups: ['staff'], realm: { level: 3 } })

    expect(admits({ subject: 'ann' }, ann)).toBe(true)
    expect(admits({ subject: ['bob', 'an*'] }, ann)).toBe(true)
    expect(admits({ subject: 'an' }, ann)).toBe(false)
    expect(admits({ subject: 'ann', issuer: 'https://other.example' }, ann)).toBe(false)
    expect(admits({ claim: 'groups', includes: 'staff' }, ann)).toBe(true)
    expect(admits({ claim: 'groups', includes: 'admin' }, ann)).toBe(false)
    expect(admits({ claim: 'realm.level', gte: 3 }, ann)).toBe(true)
    expect(admits({ subject: 'bob', claim: 'groups', includes: 'staff' }, ann)).toBe(false)
    expect(admits({ any: [{ subject: 'bob' }, { claim: 'groups', includes: 'staff' }] }, ann)).toBe(true)
  })

  test('is a role that the policy gives to callers that match one of its entries', () => {
    const roles = { analyst: [{ subject: 'ann' }, { claim: 'groups', includes: 'data' }] }

    expect(admits({ role: 'analyst' }, aCaller('ann'), roles)).toBe(true)
    expect(admits({ role: 'analyst' }, aCaller('bob', { groups: ['data'] }), roles)).toBe(true)
    expect(admits({ role: 'analyst' }, aCaller('bob'), roles)).toBe(false)
  })
})

describe('what', () => {
  const about = (what: object, rules: Parameters<typeof anOperation>[1], effect = 'deny') =>
    decide(
      {
        default: effect === 'deny' ? 'allow' : 'deny',
        isolation: { high: 'optional', critical: 'optional' },
        rules: [{ id: 'r', effect, what }],
      },
      anOperation('v1:files.list', rules),
    )?.rule === 'policy#r'

  test('one capability is reason enough to deny, and permission must cover all of them', () => {
    const mixed = { capabilities: ['data.read', 'exec.command'] }

    expect(about({ capability: 'exec.*' }, mixed)).toBe(true)
    expect(about({ capability: 'data.read' }, mixed, 'allow')).toBe(false)
    expect(about({ capability: ['data.*', 'exec.command'] }, mixed, 'allow')).toBe(true)
    expect(about({ capability: '*' }, {}, 'allow')).toBe(false)
  })

  test('a risk with + is that and above', () => {
    verifies('contract:082', 'contract:083', 'contract:084', 'contract:085')
    const levels = ['low', 'medium', 'high', 'critical'] as const

    expect(levels.filter((risk) => about({ risk: 'high+' }, { risk }))).toEqual(['high', 'critical'])
    expect(levels.filter((risk) => about({ risk: ['low', 'high'] }, { risk }))).toEqual(['low', 'high'])
  })

  test('the parts of it must all fit', () => {
    expect(about({ operation: 'v1:files.*', risk: 'low' }, {})).toBe(true)
    expect(about({ operation: 'v1:files.*', risk: 'high' }, {})).toBe(false)
    expect(about({ operation: ['v2:files.*', 'v*:*.list'] }, {})).toBe(true)
  })
})

describe('isolation', () => {
  test('operations of high risk do not run outside a sandbox, unless the policy allows it', () => {
    const open = { default: 'allow', isolation: { high: 'optional' } }
    const risky = (risk: 'high' | 'critical', isolated = false) => anOperation('v1:shell.run', { risk }, isolated)

    const refused = decide({ default: 'approve' }, risky('high')) as Decision

    expect(refused).toMatchObject({ verdict: 'deny', rule: 'policy#isolation.high' })
    expect(denied(risky('high'), refused)).toMatchObject({
      kind: 'isolation-unavailable',
      details: { risk: 'high', backend: 'handler', rule: 'policy#isolation.high' },
    })
    expect(decide({ default: 'allow' }, risky('critical', true))?.verdict).toBe('allow')
    expect(decide(open, risky('high'))?.verdict).toBe('allow')
    expect(decide(open, risky('critical'))?.fault?.kind).toBe('isolation-unavailable')
  })

  test('a caller without permission gets only that reason', () => {
    expect(decide({ default: 'deny' }, anOperation('v1:shell.run', { risk: 'critical' }))?.verdict).toBe('deny')
  })
})

test("scopes, not the policy, decide about the server's own operations, and only about those", () => {
  expect(decide({ default: 'deny' }, 'v1:callplane.approvals.decide')).toBeUndefined()
  expect(decide({ default: 'deny' }, 'v1:callplaner.approvals.decide')?.verdict).toBe('deny')
  expect(decide({ default: 'deny' }, 'v1:callplane')?.verdict).toBe('deny')
})

describe('operations under a policy', () => {
  const EIGHT = [
    ...['data.read', 'data.write', 'network.read', 'network.write', 'filesystem.read', 'filesystem.write'],
    ...['exec.command', 'external.side_effect'],
  ]

  test('a strict one knows the eight capabilities and refuses any other at start', () => {
    verifies(...Array.from({ length: 8 }, (_, index) => `contract:0${74 + index}`))
    const strict = parsePolicy({ default: 'deny', strict: true })

    expect(checkOperations(strict, [anOperation('v1:a', { capabilities: EIGHT })])).toEqual([])
    const refused = thrownBy(() => checkOperations(strict, [anOperation('v1:b', { capabilities: ['web.read'] })]))
    expect(refused).toMatchObject({ kind: 'policy-invalid', details: { operation: 'v1:b', capability: 'web.read' } })
    expect(
      checkOperations(parsePolicy({ default: 'deny' }), [anOperation('v1:b', { capabilities: ['web.read'] })]),
    ).toEqual([])
  })

  test('a capability is lower-case words with dots between them', () => {
    verifies('contract:072', 'contract:073')

    for (const capability of ['Network.Read', 'network', 'network.', 'network read']) {
      expect(() => anOperation('v1:a', { capabilities: [capability] })).toThrow(/lower-case words with dots/)
    }
    expect(anOperation('v1:a', { capabilities: ['web.read_all'] }).capabilities).toEqual(['web.read_all'])
  })

  test('a rule about a name that no operation has is pointed out', () => {
    const policy = parsePolicy({
      default: 'allow',
      rules: [{ id: 'no-deletes', effect: 'deny', what: { operation: ['v1:order.delete', 'v1:orders.*'] } }],
    })

    expect(checkOperations(policy, [anOperation('v1:orders.delete')])).toEqual([
      'policy#no-deletes names v1:order.delete, which matches no operation.',
    ])
  })

  test('a cached decision for one operation is not used for another', () => {
    const rules = [{ id: 'r', effect: 'deny', what: { operation: 'v1:a' } }]
    const guard = createPolicyGuard(parsePolicy({ default: 'allow', rules }))
    const [a, b, caller] = [anOperation('v1:a'), anOperation('v1:b'), aCaller('ann')]

    const verdicts = [a, b, a, b].map((operation) => guard.decide?.(caller, operation, {}))

    expect(verdicts).toMatchObject(['deny', 'allow', 'deny', 'allow'].map((verdict) => ({ verdict })))
  })
})
