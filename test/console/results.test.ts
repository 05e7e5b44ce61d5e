/** How results are prepared for the page: rows of large texts, CSV, Markdown, kinds of previews. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseCsv } from '../../console/src/explore/results/csv.ts'
import { fold, placeOfRow, rowAtPlace, shownCount, unfold } from '../../console/src/explore/results/folds.ts'
import { JsonRows } from '../../console/src/explore/results/json-rows.ts'
import { MAX_ROW, type RowSource } from '../../console/src/explore/results/line-index.ts'
import { parseMarkdown } from '../../console/src/explore/results/markdown.ts'
import { previewOf } from '../../console/src/explore/results/preview.ts'
import { TextRows } from '../../console/src/explore/results/text-rows.ts'

function linesOf(rows: RowSource): string[] {
  while (!rows.isDone) rows.step(7)
  return Array.from({ length: rows.count }, (_, index) => {
    const { text, indent, continues } = rows.row(index)
    return (continues ? '' : '  '.repeat(indent)) + text
  })
}

test('JSON has the rows that JSON.stringify writes, however it came', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t \n'), (value, space) => {
      const text = JSON.stringify(value, null, space)

      expect(linesOf(new JsonRows(text)).join('\n')).toBe(JSON.stringify(value, null, 2))
    }),
  )
})

test('large numbers stay as they came, and a row that opens knows the row that closes', () => {
  const rows = new JsonRows('{"n":12345678901234567890,"list":[1,[],{"a":1.0}]}')

  expect(linesOf(rows)).toEqual([
    '{',
    '  "n": 12345678901234567890,',
    '  "list": [',
    '    1,',
    '    [],',
    '    {',
    '      "a": 1.0',
    '    }',
    '  ]',
    '}',
  ])
  expect([0, 1, 2, 5].map((row) => rows.closedBy(row))).toEqual([9, undefined, 8, 7])
  expect(rows.rowAt(30)).toBe(2)
})

test('a long string is cut into rows', () => {
  const rows = new JsonRows(JSON.stringify(['x'.repeat(MAX_ROW * 2)]))

  const lines = linesOf(rows)

  expect(lines.length).toBe(5)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(MAX_ROW + 3)
})

test('text that is no JSON gives rows and no failure', () => {
  fc.assert(fc.property(fc.string(), (text) => void linesOf(new JsonRows(text))))
})

test('text has its lines', () => {
  expect(linesOf(new TextRows('a\r\n\nb'))).toEqual(['a', '', 'b'])
  expect(linesOf(new TextRows('a\n'))).toEqual(['a'])
  expect(linesOf(new TextRows('y'.repeat(MAX_ROW + 1))).length).toBe(2)
})

test('places and rows agree, with any rows folded', () => {
  const range = fc.tuple(fc.nat(50), fc.nat(20)).map(([from, length]) => [from, from + length + 1] as const)
  fc.assert(
    fc.property(fc.array(range, { maxLength: 5 }), (ranges) => {
      const folds = ranges.reduce((known, [from, to]) => fold(known, from, to), fold([], 0, 1))
      const shown = shownCount(folds, 100)
      for (let place = 0; place < shown; place++) expect(placeOfRow(folds, rowAtPlace(folds, place))).toBe(place)
    }),
  )
  expect(unfold(fold([], 2, 5), 2)).toEqual([])
})

test('CSV: quotes, line ends within cells, formulas as they are', () => {
  const { rows } = parseCsv('a,"b ""q""\nline"\r\n=HYPERLINK("x"),\n"open', 10)

  expect(rows).toEqual([['a', 'b "q"\nline'], ['=HYPERLINK("x")', ''], ['open']])
  expect(parseCsv('1\n2\n3', 2)).toEqual({ rows: [['1'], ['2']], isWhole: false })
})

test('Markdown: HTML is text, images are words, only addresses of the web are links', () => {
  const blocks = parseMarkdown(
    [
      '# A *title*',
      '',
      'Some `code`, **bold** and <script>alert(1)</script> ![pixel](https://evil.example/x.png)',
      '[ok](https://example.com) [no](javascript:alert(1)) [own](#/op/x)',
      '',
      '- one',
      '- two',
      '  - three',
      '',
      '> quoted',
      '',
      '```js',
      '<b>',
      '```',
      '',
      '| a | b |',
      '|---|---|',
      '| 1 | 2 |',
    ].join('\n'),
  )

  expect(blocks.map(({ kind }) => kind)).toEqual(['heading', 'paragraph', 'list', 'quote', 'code', 'table'])
  expect(blocks[1]).toEqual({
    kind: 'paragraph',
    children: [
      'Some ',
      { kind: 'code', text: 'code' },
      ', ',
      { kind: 'strong', children: ['bold'] },
      ' and <script>alert(1)</script> ',
      { kind: 'image', alt: 'pixel', src: 'https://evil.example/x.png' },
      '\n',
      { kind: 'link', href: 'https://example.com', children: ['ok'] },
      ' [no](javascript:alert(1)) ',
      { kind: 'em', children: ['own'] },
    ],
  })
  expect(blocks[2]).toMatchObject({ items: [[{ kind: 'paragraph' }], [{ kind: 'paragraph' }, { kind: 'list' }]] })
})

test('any text is Markdown, soon', () => {
  const letters = fc.constantFrom('*', '_', '`', '[', ']', '(', ')', '!', '>', '-', ' ', '\n', 'a', '|', '#', '1.')
  fc.assert(fc.property(fc.array(letters, { maxLength: 200 }), (text) => void parseMarkdown(text.join(''))))
  parseMarkdown('*a'.repeat(2_000))
  parseMarkdown('>'.repeat(10_000))
})

test.each(['[', '![a](', '*a ', '_a ', '`a ', '``a`', '[a](b "', '```\n~~~\n', '|\n-', '> '])(
  'a document of %j ends',
  (part) => {
    expect(parseMarkdown(part.repeat(200_000 / part.length))).not.toEqual([])
  },
)

test.each(['# ', '# #', '| |\n---', '---'])('a line that begins with %j and goes on with spaces ends', (start) => {
  expect(parseMarkdown(`${start}${' '.repeat(200_000)}x`)).not.toEqual([])
})

test.each([
  ['application/json; charset=utf-8', 'json'],
  ['application/vnd.api+json', 'json'],
  ['TEXT/HTML', 'html'],
  ['image/svg+xml', 'svg'],
  ['image/png', 'image'],
  ['text/x-python', 'text'],
  ['application/rss+xml', 'text'],
  ['application/pdf', 'pdf'],
  ['application/zip', 'binary'],
  ['', 'binary'],
])('%s is shown as %s', (type, preview) => {
  expect(previewOf(type)).toBe(preview)
})
