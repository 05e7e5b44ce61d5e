import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runProcess, SOURCE, temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const entry = (op: string, required: string[]) => ({
  op,
  argsSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required },
  resultSchema: { type: 'number' },
  executionModel: 'sync',
})
const registry = (...operations: object[]) => JSON.stringify({ callVersion: '2026-02-10', operations })

test('a breaking change is named and exits 1; a compatible change exits 0', async () => {
  const folder = await temporaryFolder({
    'old.json': registry(entry('v1:Add', ['a'])),
    'stricter.json': registry(entry('v1:Add', ['a', 'b'])),
    'more.json': registry(entry('v1:Add', ['a']), entry('v1:Sub', ['a'])),
  })
  const check = (after: string, ...more: string[]) =>
    runCommand(['check', join(folder, 'old.json'), join(folder, after), ...more])

  const [stricter, more, same, json] = [
    await check('stricter.json'),
    await check('more.json'),
    await check('old.json'),
    await check('stricter.json', '--json'),
  ]

  expect(stricter.stdout).toMatch(/^BREAKING {2}v1:Add {2}\/argsSchema\/\S+ {2}.+\n1 breaking, 0 safe\.\n$/)
  expect(more.stdout).toBe('safe      v1:Sub  operation was added\n0 breaking, 1 safe.\n')
  expect(same.stdout).toBe('Nothing has changed.\n')
  expect(JSON.parse(json.stdout)).toMatchObject([{ op: 'v1:Add', kind: 'breaking' }])
  expect([stricter.code, more.code, same.code, json.code]).toEqual([1, 0, 0, 1])
})

test('the operations of source files are compared, and nothing is started', async () => {
  const source = (required: string) => `
    import { jsonSchema, operation } from '${SOURCE}'
    const args = jsonSchema({ type: 'object', properties: { a: { type: 'number' } }, required: ${required} })
    export const add = operation('v1:Add', { args, run: () => { throw new Error('it was started') } })`
  const folder = await temporaryFolder({ 'new/add.ts': source('["a"]'), 'old.ts': source('[]') })

  const { code, stdout, stderr } = await runProcess(['check', 'old.ts', 'new'], { cwd: folder })

  expect(stderr).toBe('')
  expect(stdout).toMatch(/^BREAKING {2}v1:Add {2}\/argsSchema/)
  expect(code).toBe(1)
})

test('a server can be one of the two', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.url)
    response.end(registry(entry('v1:Add', ['a'])))
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folder = await temporaryFolder({ 'new.json': registry(entry('v1:Add', ['a'])) })

  const { code } = await runCommand(['check', url, join(folder, 'new.json')])
  const document = await runCommand(['check', `${url}/.well-known/ops`, `${url}/released.json`])

  expect([code, document.code]).toEqual([0, 0])
  expect(asked).toEqual(['/.well-known/ops', '/.well-known/ops', '/released.json'])
})

test('unreadable input is exit 2, so that a pipeline can tell it from a verdict', async () => {
  const folder = await temporaryFolder({ 'ok.json': registry(), 'bad.json': '{', 'other.json': '{}' })
  const ok = join(folder, 'ok.json')
  const wrong = [
    [ok],
    [ok, 'nowhere'],
    [ok, join(folder, 'bad.json')],
    [ok, join(folder, 'other.json')],
    ['http://127.0.0.1:1', ok],
  ]

  for (const places of wrong) {
    const { code, stderr } = await runCommand(['check', ...places])

    expect(stderr).toMatch(/^callplane: .+\nSee: callplane help check\n$/)
    expect(code).toBe(2)
  }
})
