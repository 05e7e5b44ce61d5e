import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { QUICKSTART, runProcess, temporaryFolder } from './processes.ts'
import { runCommand } from './streams.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 30_000 })

const entry = (op: string, type: string) => ({ op, argsSchema: { type: 'object' }, resultSchema: { type } })
const registry = (...operations: object[]) => JSON.stringify({ callVersion: '2026-02-10', operations })

test('a file is written, found to be up to date, and found to be stale', async () => {
  const folder = await temporaryFolder({
    'old.json': registry(entry('v1:a', 'string'), entry('v1:b', 'string')),
    'same.json': registry(entry('v1:b', 'string'), entry('v1:a', 'string')),
    'new.json': registry(entry('v1:a', 'number'), entry('v1:b', 'string')),
  })
  const out = join(folder, 'made/here/schemas.json')
  const generate = (name: string, ...more: string[]) =>
    runCommand(['generate', join(folder, name), '--json-schema', '--out', out, ...more])

  const missing = await generate('old.json', '--check')
  const written = await generate('old.json')
  const text = await readFile(out, 'utf8')
  const fresh = await generate('same.json', '--check')
  await writeFile(out, text.replaceAll('\n', '\r\n'))
  const otherBreaks = await generate('same.json', '--check')
  const stale = await generate('new.json', '--check')
  const printed = await runCommand(['generate', join(folder, 'old.json'), '--json-schema'])

  expect([missing, written, fresh, otherBreaks, stale].map(({ code }) => code)).toEqual([1, 0, 0, 0, 1])
  expect(missing.stderr).toContain('does not exist. Run the same command without --check.')
  expect(stale.stderr).toMatch(
    /is stale\. .+\n--- .+schemas\.json\n\+\+\+ generated\n@@ -\d+,1 \+\d+,1 @@\n- +"type": "string"\n\+ +"type": "number"\n$/,
  )
  expect(await readFile(out, 'utf8')).toContain('\r\n')
  expect(printed.stdout).toBe(text)
})

test('a folder of operations is loaded and not run', async () => {
  const { code, stdout, stderr } = await runProcess(['generate', QUICKSTART, '--json-schema', '--title', 'Quickstart'])

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({ title: 'Quickstart', $defs: { 'v1:Calculator.Add': {} } })
})

test('what is left out is told, and wrong usage is exit 2', async () => {
  const folder = await temporaryFolder({
    'odd.json': registry({ op: 'no\u001bname' }, entry('v1:a', 'string')),
    'other.json': '{}',
  })
  const odd = join(folder, 'odd.json')

  const left = await runCommand(['generate', odd, '--json-schema'])
  const wrong = [
    await runCommand(['generate', odd]),
    await runCommand(['generate', '--json-schema']),
    await runCommand(['generate', odd, '--json-schema', '--check']),
    await runCommand(['generate', join(folder, 'other.json'), '--json-schema']),
    await runCommand(['generate', join(folder, 'missing'), '--json-schema']),
  ]

  expect(left.code).toBe(0)
  expect(left.stderr).toBe(
    'callplane: "no\\u001bname" is left out: it is not an operation name such as v1:orders.getItem.\n',
  )
  expect(wrong.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2])
})
