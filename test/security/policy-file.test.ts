import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Fault } from '../../src/core/fault.ts'
import { loadPolicy } from '../../src/security/policy/file.ts'
import { createPolicyGuard } from '../../src/security/policy/guard.ts'
import { aCaller, anOperation } from './policy-calls.ts'

async function load(text: string, name = 'policy.yaml') {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-policy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, name), text)
  return loadPolicy(join(folder, name))
}

const complaint = async (text: string, name?: string): Promise<string> => {
  const fault = await load(text, name).then(
    () => undefined,
    (thrown: Fault) => thrown,
  )
  expect(fault?.kind).toBe('policy-invalid')
  return (fault?.message ?? '').replace(/^.*\/(?=policy\.)/, '')
}

const SAME = {
  'policy.yaml': `
default: allow
rules:
  - id: no-deletes
    effect: deny
    what: { operation: 'v1:orders.delete' }
`,
  'policy.ts': `export default {
  default: 'allow' as const,
  rules: [{ id: 'no-deletes', effect: 'deny', what: { operation: 'v1:orders.delete' }, who: undefined }],
}`,
  'policy.json': `{"default":"allow","rules":[{"id":"no-deletes","effect":"deny","what":{"operation":"v1:orders.delete"}}]}`,
}

test.each(Object.entries(SAME))('%s decides, and its name is in the reference', async (name, text) => {
  const guard = createPolicyGuard(await load(text, name))

  expect(guard.decide?.(aCaller('ann'), anOperation('v1:orders.delete'), {})).toEqual({
    verdict: 'deny',
    rule: `${name}#no-deletes`,
  })
})

const rule = (lines: string) => `default: deny\nrules:\n  - id: one\n    effect: deny\n${lines}`

test.each<[string, string, RegExp]>([
  ['no default', 'rules:\n  - { id: a, effect: deny }', /^policy.yaml:1: the policy needs a default/],
  ['an unknown default', '\ndefault: alow', /^policy.yaml:2: default must be one of allow, deny, approve, not "alow"/],
  ['an unknown field', 'default: deny\n\nrule: []', /^policy.yaml:3: rule is not a known field. Use one of default, /],
  [
    'an unknown field in a rule',
    rule('    whom: { subject: a }'),
    /^policy.yaml:5: rules\[0\].whom is not a known field/,
  ],
  ['an empty who', rule('    who:\n'), /^policy.yaml:5: rules\[0\].who must be an object with fields/],
  ['an undefined role', rule('    who:\n      role: x'), /^policy.yaml:6: rules\[0\].who.role is not a role of this/],
  ['a test without a claim', rule('    who:\n      equals: 1'), /^policy.yaml:5: .*no claim to apply it to/],
  ['a claim without a test', rule('    who:\n      claim: groups'), /^policy.yaml:6: .*needs a test beside it/],
  ['a name without a version', rule("    what: { operation: 'orders.*' }"), /^policy.yaml:5: .*v1:orders\.\*/],
  [
    'an unknown risk',
    rule('    what: { risk: [low, severe] }'),
    /^policy.yaml:5: rules\[0\].what.risk\[1\] .*"severe"/,
  ],
  ['a bad capability', rule('    what: { capability: Net }'), /^policy.yaml:5: .*lower-case/],
  ['a condition without a path', rule('    when: { gt: 5 }'), /^policy.yaml:5: .*needs a path/],
  ['a test of the wrong type', rule('    when:\n      path: a\n      gt: "5"'), /^policy.yaml:7: .*must be a number/],
  ['a test beside a group', rule('    when: { any: [{ path: a, gt: 1 }], path: b }'), /^policy.yaml:5: .*beside any/],
  ['an empty group', rule('    when: { all: [] }'), /^policy.yaml:5: .*at least one entry/],
  ['approval terms of a denial', rule('    approval: { ttlSeconds: 5 }'), /^policy.yaml:5: .*effect: approve/],
  ['the same id twice', rule('  - id: one\n    effect: allow'), /^policy.yaml:5: rules\[1\].id is already used: "one"/],
  ['a reserved id', 'default: deny\nrules:\n  - id: default\n    effect: deny', /^policy.yaml:3: rules\[0\].id must/],
  ['a key twice', 'default: deny\ndefault: allow', /^policy.yaml:2: this is not YAML: /],
  ['broken YAML', 'default: deny\nrules: [', /^policy.yaml:2: this is not YAML: /],
  ['nothing', '', /^policy.yaml:1: the policy must be an object with fields/],
  [
    'a capability that a strict policy does not know',
    'default: deny\nstrict: true\nrules:\n  - id: a\n    effect: deny\n    what: { capability: web.* }',
    /^policy.yaml:6: .*not a capability that a strict policy accepts. Use one of data.read/,
  ],
])('%s is refused with the line and the fix', async (_, text, message) => {
  expect(await complaint(text)).toMatch(message)
})

test('a module is refused by the name of the field, and one without a policy by what to write', async () => {
  expect(await complaint(`export default { default: 'deny', rules: [{ id: 'a' }] }`, 'policy.ts')).toBe(
    'policy.ts: rules[0] needs an effect: allow, deny or approve.',
  )
  expect(await complaint('export const policy = 1', 'policy.mjs')).toMatch(/export default definePolicy/)
  expect(await complaint('throw new Error("broken")', 'policy.mts')).toMatch(/cannot be loaded: broken/)
  expect(await complaint('', 'policy.toml')).toMatch(/must end in \.yaml/)
  await expect(loadPolicy('/nowhere/policy.yaml')).rejects.toMatchObject({ kind: 'policy-invalid' })
})
