/** Every comment that cites a reading names a section of docs/readings.md, and every section is cited. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requirements } from '../requirements/catalogue.ts'
import { anchorsIn, ROOT, readPage } from './pages.ts'

const page = readPage('docs/readings.md')
const sections = [...anchorsIn(page)].filter((anchor) => /^(r|a|rest-)\d+$/.test(anchor))

const sources = execFileSync('git', ['ls-files', 'src/**/*.ts', 'test/**/*.ts'], { cwd: ROOT })
  .toString()
  .split('\n')
  .filter((file) => file !== '' && !file.startsWith('test/docs/'))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))

/** `#a13 and #a14` after a citation are further ones. */
function citedIn(text: string): string[] {
  const citations = text.matchAll(/docs\/readings\.md(#[\w-]+(?:(?:,| and)[\s*]+#[\w-]+)*)/g)
  return [...citations].flatMap(([, anchors = '']) => [...anchors.matchAll(/#([\w-]+)/g)].map(([, id = '']) => id))
}

test('every cited reading has a section, and every section is cited', () => {
  const cited = new Set(sources.flatMap(({ text }) => citedIn(text)))

  expect(sections.length).toBeGreaterThan(30)
  expect([...cited].filter((anchor) => !sections.includes(anchor))).toEqual([])
  expect(sections.filter((anchor) => !cited.has(anchor))).toEqual([])
})

test('no comment cites a reading by a bare code', () => {
  const bare = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/\breadings?:? (?:[ARMX]\d+|\d+\b(?! GiB))/gi)].map(([code]) => `${file}: ${code}`),
  )

  expect(bare).toEqual([])
})

test('the requirements that a reading names exist', () => {
  const named = [...page.matchAll(/\b(opencall|contract|rest):\d+\b/g)].map(([id]) => id)

  expect(named.filter((id) => !requirements.has(id))).toEqual([])
})
