/** Every link in the documentation leads to a page and a heading that exist. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { anchorsIn, linksIn, listPages, ROOT, readPage } from './pages.ts'

const pages = listPages()

function problemsOf(page: string, text: string): string[] {
  return linksIn(page, text).flatMap(({ written, path, anchor }) => {
    if (!existsSync(join(ROOT, path))) return [`${page}: ${written} leads to no file`]
    if (anchor === undefined || !path.endsWith('.md')) return []
    const target = path === page ? text : readPage(path)
    return anchorsIn(target).has(anchor) ? [] : [`${page}: ${written} leads to no heading`]
  })
}

test('every relative link and anchor resolves', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/README.md', 'docs/readings.md']))

  expect(pages.flatMap((page) => problemsOf(page, readPage(page)))).toEqual([])
})

test('a link to a missing page and one to a missing heading are found', () => {
  const text =
    '# Here\n[a](no-such-page.md) [b](docs/README.md#no-such-heading) [c](#here) [d](#there) `[e](none.md)`\n'

  expect(problemsOf('README.md', text)).toEqual([
    'README.md: no-such-page.md leads to no file',
    'README.md: docs/README.md#no-such-heading leads to no heading',
    'README.md: #there leads to no heading',
  ])
})

test('the index in docs/README.md leads to every page of the documentation', () => {
  const linked = new Set(
    ['docs/README.md', 'docs/decisions/README.md'].flatMap((page) =>
      linksIn(page, readPage(page)).map(({ path }) => path),
    ),
  )
  const own = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')

  expect(own.filter((page) => !linked.has(page))).toEqual([])
})
