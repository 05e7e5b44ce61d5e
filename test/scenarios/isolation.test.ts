/** Dangerous operations run in a sandbox or not at all, unless a policy allows them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createToken, importTools, operation, type PolicyDefinition } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { compileWat, folderWith, WAT } from '../backends/wasm-modules.ts'
import { callOver, SOURCE, serveProcess } from '../cli/processes.ts'
import { runCommand } from '../cli/streams.ts'
import { startHttpTools } from '../fixtures/mcp/http-server.ts'
import { startSite } from './server.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const WAYS_OUT = /Run it in a container or as wasm, lower its risk, or /

async function harmful() {
  const ran: string[] = []
  const module = join(folderWith(await compileWat(WAT.echo)), 'tool.wasm')
  const operations = [
    operation('v1:disk.clean', { risk: 'medium', run: () => ran.push('medium') }),
    operation('v1:disk.wipe', { risk: 'high', run: () => ran.push('high') }),
    operation('v1:disk.burn', { risk: 'critical', run: () => ran.push('critical') }),
    operation('v1:text.echo', { risk: 'critical', backend: { kind: 'wasm', module } }),
  ]
  return { ran, operations }
}

const OPEN_TO_HIGH: PolicyDefinition = { default: 'allow', isolation: { high: 'optional' } }

test.each<[string, PolicyDefinition | undefined, string[], string]>([
  ['no policy', undefined, ['medium'], '"default: allow", "isolation: { critical: optional }"'],
  ['a policy that is silent about it', { default: 'allow' }, ['medium'], 'add "isolation: { critical: optional }"'],
  ['a policy that lets one risk', OPEN_TO_HIGH, ['medium', 'high'], 'add "isolation: { critical: optional }"'],
])('%s: handlers of a high risk run only where it says so, and modules always', async (_name, policy, runs, way) => {
  const { ran, operations } = await harmful()
  const site = await startSite({ operations, ...(policy && { policy }) })

  await site.call('v1:disk.clean')
  await site.call('v1:disk.wipe')
  const burnt = await site.call('v1:disk.burn')
  const echoed = await site.call('v1:text.echo', { n: 1 })

  expect(ran).toEqual(runs)
  expect(echoed.body).toMatchObject({ state: 'complete', result: { n: 1 } })
  expect(burnt.body.error).toMatchObject({
    code: 'PANIC_ISOLATION_UNAVAILABLE',
    message: expect.stringMatching(WAYS_OUT),
  })
  expect(burnt.body.error?.message).toContain(way)
})

test('without a policy the refusal is in the trail as well', async () => {
  const { operations } = await harmful()
  const { token, hash } = createToken()
  const tokens = [{ hash, kind: 'bearer', subject: 'root', scopes: ['callplane:admin'] } as const]
  const site = await startSite({ operations, auth: { tokens } })
  const sending = { headers: { Authorization: `Bearer ${token}` } }

  await site.call('v1:disk.wipe', {}, undefined, sending)

  const { body } = await site.call('v1:callplane.audit.list', {}, undefined, sending)
  expect(body.result).toMatchObject({ entries: [{ verdict: 'deny', rule: 'callplane#isolation.high' }] })
})

test('the log of the start names what will be refused, imported tools too', async () => {
  const { operations } = await harmful()
  const tools = await startHttpTools()
  onTestFinished(() => tools.stop())
  const kit = { kind: 'mcp', url: tools.url, allowPrivate: true } as const
  const imports = [
    importTools({ ...kit, as: 'v1:kit.*' }, { risk: 'critical' }),
    importTools({ ...kit, as: 'v1:safe.*' }, { risk: 'low' }),
  ]
  const warned = async (more: { policy?: PolicyDefinition }) => {
    const lines: LogLine[] = []
    await startSite({ operations, imports, log: createMemoryLog(lines), ...more })
    return lines.flatMap(({ level, fields }) => (level === 'warn' ? fields.operation : []))
  }

  expect(await warned({})).toEqual(['v1:disk.wipe', 'v1:disk.burn', 'v1:kit.*'])
  expect(await warned({ policy: OPEN_TO_HIGH })).toEqual(['v1:disk.burn', 'v1:kit.*'])
})

test('"policy test" and the server say the same', async () => {
  const folder = folderWith(await compileWat(WAT.echo))
  const policy = join(folder, 'policy.yaml')
  writeFileSync(policy, 'default: allow\nisolation: { high: optional }\n')
  const handler = (name: string, risk: string) => `operation('v1:${name}', { risk: '${risk}', run: () => 'done' })`
  const source = `export const wipe = ${handler('wipe', 'high')}\nexport const burn = ${handler('burn', 'critical')}\n`
  writeFileSync(join(folder, 'operations.ts'), `import { operation } from '${SOURCE}'\n${source}`)
  const declared = 'operation: v1:echo\nrisk: critical\nbackend: { kind: wasm, module: tool.wasm }\n'
  writeFileSync(join(folder, 'echo.yaml'), declared)
  const { url } = await serveProcess([folder, '--policy', policy, '--data', join(folder, '.data')])

  for (const [op, said] of Object.entries({ 'v1:wipe': 'allow', 'v1:burn': 'deny', 'v1:echo': 'allow' })) {
    const { stdout } = await runCommand(['policy', 'test', policy, '--operations', folder, '--op', op, '--json'])
    const { body } = await callOver(url, op)

    const { verdict, reason } = JSON.parse(stdout)
    expect([op, verdict]).toEqual([op, said])
    expect(body).toMatchObject(verdict === 'deny' ? { error: { message: reason } } : { state: 'complete' })
  }
})
