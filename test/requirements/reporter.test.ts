/** The citations that the gate judges in `npm test`, in `npm run test:all`, and in both together. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { TestModule, Vitest } from 'vitest/node'
import { type Part, partOf } from '../long-tests.ts'
import { notYetBuilt, requirements } from './catalogue.ts'
import type { Citation } from './gate.ts'
import { readCitations, writeCitations } from './other-part.ts'
import { RequirementGate } from './reporter.ts'

const root = process.cwd()
/** Every citation of the committed page. */
const page = [...readFileSync('docs/conformance.md', 'utf8').matchAll(/^\| (\S+:\d+) \|.*\| (`.+`) \|$/gm)].flatMap(
  ([, id = '', files = '']): Citation[] =>
    files.split(', ').map((file) => ({ id, file: file.slice(1, -1), passed: true })),
)
const inLong = ({ file }: Citation) => file.startsWith('test/crash/') || file === 'test/workers/crash.test.ts'

/** The output of the gate after a run with these citations. */
async function judge(part: Part, citations: readonly Citation[], citationsFile?: string): Promise<string[]> {
  const said: string[] = []
  const gate = new RequirementGate({ part, writePage: false, citationsFile, fail: (message) => said.push(message) })
  gate.onInit({ config: { root }, globTestSpecifications: async () => [] } as unknown as Vitest)
  const modules = citations.map(({ id, file, passed }) => ({
    moduleId: join(root, file),
    children: {
      allTests: () => [
        { result: () => ({ state: passed ? 'passed' : 'failed' }), options: {}, meta: () => ({ requirements: [id] }) },
      ],
    },
  }))
  await gate.onTestRunEnd(modules as unknown as TestModule[], [], 'passed')
  return said
}

function citationsFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-citations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'citations.json')
}

test('npm test alone passes without the long tests, and leaves its citations for them', async () => {
  const file = citationsFile()
  const quick = page.filter((citation) => !inLong(citation))

  expect(await judge('quick', quick, file)).toEqual([])
  expect(readCitations(file)).toEqual(quick)
})

test('npm test alone fails when a requirement is no longer cited, or the page is out of date', async () => {
  const [first] = page as [Citation, ...Citation[]]

  const uncited = await judge(
    'quick',
    page.filter(({ id }) => id !== first.id),
  )
  const elsewhere = await judge('quick', [...page, { ...first, file: 'test/stores/new.test.ts' }])

  expect(uncited).toEqual([expect.stringContaining(first.id)])
  expect(elsewhere).toEqual([expect.stringContaining('npm run docs:conformance')])
})

test('both parts together pass when each requirement is proven in one of them', async () => {
  const file = citationsFile()
  writeCitations(
    file,
    page.filter((citation) => !inLong(citation)),
  )

  expect(await judge('long', page.filter(inLong), file)).toEqual([])
})

test('both parts together fail on what the page says of a long test that no longer cites it', async () => {
  const file = citationsFile()
  writeCitations(
    file,
    page.filter((citation) => !inLong(citation)),
  )

  expect(await judge('long', [], file)).toEqual([expect.stringContaining('npm run docs:conformance')])
})

test('both parts together fail when no part proves a requirement, and when the first one wrote nothing', async () => {
  const file = citationsFile()
  const [first] = page as [Citation, ...Citation[]]

  expect(await judge('long', page.filter(inLong), file)).toEqual([expect.stringContaining('wrote no citations')])
  writeCitations(
    file,
    page.map((citation) => ({ ...citation, passed: citation.id !== first.id })),
  )
  expect(await judge('long', [], file)).toEqual([expect.stringContaining(first.id)])
})

test('the long tests alone are not judged, and a run of all files is', async () => {
  expect(await judge('long', [])).toEqual([])
  expect(await judge('whole', page)).toEqual([])
  const [nothing = ''] = await judge('whole', [])
  expect(nothing.match(/\S+:\d+/g)).toHaveLength(requirements.size - notYetBuilt.size)
})

test('a mode that is not a part has all files', () => {
  expect(['quick', 'long', 'conformance', 'test'].map(partOf)).toEqual(['quick', 'long', 'whole', 'whole'])
})
