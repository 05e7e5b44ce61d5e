import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProcess, SOURCE, temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

const POLICY = `
default: deny
roles:
  analyst: [{ claim: groups, includes: data }]
rules:
  - id: read
    effect: allow
    who: { role: analyst }
    what: { operation: 'v1:orders.*' }
  - id: large
    effect: approve
    what: { operation: 'v1:orders.refund' }
    when: { path: amount, gt: 100 }
  - id: no-commands
    effect: deny
    what: { capability: exec.command }
    reason: Commands are not run here.
`

const OPERATIONS = `
  import { jsonSchema, operation } from '${SOURCE}'
  const args = jsonSchema({ type: 'object', properties: { amount: { type: 'number' } } })
  const run = () => { throw new Error('it was started') }
  export const refund = operation('v1:orders.refund', { args, scopes: ['orders:write'], run })
  export const purge = operation('v1:orders.purge', { risk: 'high', run })
  export const convert = operation('v1:orders.convert', { risk: 'high', backend: { kind: 'wasm', module: 'none.wasm' } })`

const ask = async (...args: string[]) => {
  const folder = await temporaryFolder({ 'policy.yaml': POLICY })
  return runCommand(['policy', 'test', join(folder, 'policy.yaml'), ...args])
}
const ANALYST = ['--subject', 'ann', '--claims', '{"groups":["data"]}']

test('a call is allowed, held or refused: the words, the rules that matched and the exit code say so', async () => {
  const allowed = await ask('--op', 'v1:orders.get', ...ANALYST)
  const held = await ask('--op', 'v1:orders.refund', '--roles', 'analyst', '--args', '{"amount":101}')
  const refused = await ask('--op', 'v1:orders.export', '--capabilities', 'data.read,exec.command', ...ANALYST)

  expect(allowed.stdout).toBe(`v1:orders.get called by ann: ALLOWED by policy.yaml#read
Roles: analyst
Rules that match:
  allow    policy.yaml#read
`)
  expect(held.stdout).toContain('HELD for an approval by policy.yaml#large')
  expect(refused.stdout).toBe(`v1:orders.export called by ann: REFUSED by policy.yaml#no-commands
  Commands are not run here.
Roles: analyst
Rules that match:
  deny     policy.yaml#no-commands
  allow    policy.yaml#read
`)
  expect([allowed.code, held.code, refused.code]).toEqual([0, 4, 1])
})

test('a call that no rule matches gets the default, and scripts can read the result', async () => {
  const { code, stdout } = await ask('--op', 'v2:other', '--json')

  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual({
    operation: 'v2:other',
    verdict: 'deny',
    rule: 'policy.yaml#default',
    reason: 'No rule of the policy allows it.',
    roles: [],
    matched: [],
  })
})

test('with the operations at hand, scopes, arguments and the sandbox count as well, and nothing is started', async () => {
  const folder = await temporaryFolder({ 'policy.yaml': POLICY, 'operations.ts': OPERATIONS })
  const testing = (op: string, ...more: string[]) =>
    runProcess(['policy', 'test', 'policy.yaml', '--operations', 'operations.ts', '--op', op, ...ANALYST, ...more], {
      cwd: folder,
    })

  const [unscoped, scoped, wrong, risky, sandboxed] = [
    await testing('v1:orders.refund'),
    await testing('v1:orders.refund', '--scopes', 'orders:write', '--args', '{"amount":5}'),
    await testing('v1:orders.refund', '--scopes', '*', '--args', '{"amount":"5"}'),
    await testing('v1:orders.purge'),
    await testing('v1:orders.convert'),
  ]

  expect(unscoped.stdout).toContain('needs the scope orders:write')
  expect(scoped.stdout).toContain('ALLOWED by policy.yaml#read')
  expect(wrong.stderr).toContain('amount')
  expect(risky.stdout).toContain('REFUSED by policy.yaml#isolation.high')
  expect(sandboxed.stdout).not.toContain('#isolation')
  expect([unscoped.code, scoped.code, wrong.code, risky.code]).toEqual([1, 0, 2, 1])
}, 30_000)

test("the server's own operations are said to be under no policy", async () => {
  const { code, stdout } = await ask('--op', 'v1:callplane.approvals.decide')

  expect(stdout).toContain('no policy governs this operation')
  expect(code).toBe(0)
})

test('an invalid command or policy is exit 2, so that a script can tell it from a verdict', async () => {
  const folder = await temporaryFolder({ 'policy.yaml': 'default: allow', 'slip.yaml': 'default: alow' })
  const file = join(folder, 'policy.yaml')
  const wrong = [
    ['test'],
    ['tset', file, '--op', 'v1:a'],
    ['test', file],
    ['test', join(folder, 'slip.yaml'), '--op', 'v1:a'],
    ['test', file, '--op', 'no name'],
    ['test', join(folder, 'none.yaml'), '--op', 'v1:a'],
    ['test', file, '--op', 'v1:a', '--args', '[]'],
    ['test', file, '--op', 'v1:a', '--operations', folder, '--risk', 'high'],
  ]

  for (const args of wrong) {
    const { code, stderr } = await runCommand(['policy', ...args])

    expect(stderr).toMatch(/^callplane: .+\nSee: callplane help policy\n$/)
    expect(code).toBe(2)
  }
})

test('the policy may lie among the operations, as it may for a server', async () => {
  const folder = await temporaryFolder({ 'app/policy.yaml': POLICY, 'app/operations.ts': OPERATIONS })
  const app = join(folder, 'app')
  const asked = ['--op', 'v1:orders.refund', '--operations', app, '--scopes', '*', '--roles', 'analyst']

  const { code, stdout } = await runCommand(['policy', 'test', join(app, 'policy.yaml'), ...asked])

  expect(stdout).toContain('ALLOWED by policy.yaml#read')
  expect(code).toBe(0)
})

test('an imported tool must be described on the command line: its server is not contacted', async () => {
  const tools = "import: { kind: mcp, url: 'https://mcp.example/mcp', as: 'v1:kit.*' }\n"
  const folder = await temporaryFolder({ 'app/tools.yaml': tools })

  const { code, stderr } = await ask('--op', 'v1:kit.search', '--operations', join(folder, 'app'))

  expect(code).toBe(2)
  expect(stderr).toMatch(/tools\.yaml:1.*Leave out --operations.*--capabilities and --risk/)
})

test('a role that the policy does not define is a misspelling', async () => {
  const near = await ask('--op', 'v1:orders.get', '--roles', 'analist')
  const far = await ask('--op', 'v1:orders.get', '--roles', 'boss')

  expect(near).toMatchObject({ code: 2, stderr: expect.stringContaining('no role "analist". Did you mean analyst?') })
  expect(far).toMatchObject({ code: 2, stderr: expect.stringContaining('no role "boss". It defines analyst.') })
})
