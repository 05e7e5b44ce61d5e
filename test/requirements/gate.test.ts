import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { filesOf, type Part } from '../long-tests.ts'
import { verifies } from '../requirements.ts'
import { requirements } from './catalogue.ts'
import { renderConformancePage } from './conformance-page.ts'
import { type Citation, findGateProblems } from './gate.ts'
import { citationsOfLongTests, readCitations, writeCitations } from './other-part.ts'

const known = ['spec:001', 'spec:002']
const proof = (id: string, passed = true): Citation => ({ id, file: 'test/a.test.ts', passed })

function problems(citations: readonly Citation[], notYetBuilt: readonly string[] = []) {
  return findGateProblems({ known, notYetBuilt, citations }).map(({ kind, ids }) => ({ kind, ids }))
}

test('the gate is open when every requirement is proven or listed as not yet built', () => {
  expect(problems([proof('spec:001'), proof('spec:002')])).toEqual([])
  expect(problems([proof('spec:001')], ['spec:002'])).toEqual([])
})

test('a requirement that no test cites closes the gate', () => {
  expect(problems([proof('spec:001')])).toEqual([{ kind: 'unproven', ids: ['spec:002'] }])
})

test('npm test and npm run test:all have every test file between them, and none twice', () => {
  const root = new URL('../..', import.meta.url)
  const files = (part: Part) => {
    const { include, exclude } = filesOf(part)
    return globSync(include, { cwd: root, exclude }).sort()
  }
  expect([...files('quick'), ...files('long')].sort()).toEqual(files('whole'))
  expect(files('long')).toContain('test/crash/crash.test.ts')
  expect(files('quick').length).toBeGreaterThan(files('long').length)
})

test('npm test alone takes from the page what long tests prove, and nothing else', () => {
  const page = [
    '| spec:001 | MUST | server | One. | `test/crash/crash.test.ts`, `test/stores/a.test.ts` |',
    '| spec:002 | MUST | server | `test/crash/crash.test.ts` is in the text only. | `test/stores/a.test.ts` |',
    '| spec:003 | MUST | server | Of a file that is gone. | `test/crash/gone.test.ts` |',
  ].join('\n')
  expect(citationsOfLongTests(page, fileURLToPath(new URL('../..', import.meta.url)))).toEqual([
    { id: 'spec:001', file: 'test/crash/crash.test.ts', passed: true },
  ])
})

test('citations written by one run are read by the next, and a run that wrote none is noticed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-citations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'citations.json')

  expect(readCitations(file)).toBeUndefined()
  writeCitations(file, [proof('spec:001'), proof('spec:002', false)])
  expect(readCitations(file)).toEqual([proof('spec:001'), proof('spec:002', false)])
})

test('a citation by a failing test proves nothing', () => {
  expect(problems([proof('spec:001'), proof('spec:002', false)])).toEqual([{ kind: 'unproven', ids: ['spec:002'] }])
})

test('a requirement listed as not yet built that passes closes the gate', () => {
  expect(problems([proof('spec:001'), proof('spec:002')], ['spec:002'])).toEqual([
    { kind: 'built-but-listed', ids: ['spec:002'] },
  ])
})

test('an id of no specification closes the gate, cited or listed', () => {
  const both = [proof('spec:001'), proof('spec:002')]
  expect(problems([...both, proof('spec:404', false)])).toEqual([{ kind: 'unknown-id', ids: ['spec:404'] }])
  expect(problems(both, ['spec:405'])).toEqual([{ kind: 'unknown-id', ids: ['spec:405'] }])
})

test('a citation is recorded on the test that makes it, once', ({ task }) => {
  // opencall:002 needs no proof here; the meta is cleared so that this test is not counted as one.
  verifies('opencall:002')
  verifies('opencall:002', 'opencall:003')
  const recorded = task.meta.requirements
  delete task.meta.requirements

  expect(recorded).toEqual(['opencall:002', 'opencall:003'])
})

test('a citation of an unknown requirement fails its test', () => {
  expect(() => verifies('opencall:999')).toThrow(/opencall:999/)
})

test('OpenCALL has 328 requirements in unbroken order', () => {
  const ids = [...requirements.keys()].filter((id) => id.startsWith('opencall:'))
  expect(ids).toEqual(Array.from({ length: 328 }, (_, index) => `opencall:${String(index + 1).padStart(3, '0')}`))
})

test('the conformance page names the proving files, the reason for the rest, and keeps its table whole', () => {
  const requirement = { level: 'MUST', actor: 'server', section: 'One', source: 'L1' }
  const page = renderConformancePage({
    specifications: [
      {
        prefix: 'spec',
        title: 'Spec',
        version: '1',
        requirements: [
          { ...requirement, id: 'spec:001', text: 'A plain <form> gives `a|b`.' },
          { ...requirement, id: 'spec:002', text: 'Later.' },
        ],
      },
    ],
    notYetBuilt: new Map([['spec:002', 'streams are not built yet']]),
    citations: [proof('spec:001'), proof('spec:001'), proof('spec:002', false)],
  })

  expect(page).toContain('1 of 2 requirements proven')
  expect(page).toContain('| spec:001 | MUST | server | A plain &lt;form> gives `a\\|b`. | `test/a.test.ts` |')
  expect(page).toContain('| spec:002 | MUST | server | Later. | not yet built: streams are not built yet |')
})
