/** The editor's pure parts: where the cursor stands, what changed, and what a pasted table holds. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { placeAt } from '../../../console/src/editor/place-at.ts'
import { smallestChange } from '../../../console/src/editor/smallest-change.ts'
import { parseRows } from '../../../console/src/forms/fields/csv.ts'

describe('the place of the cursor', () => {
  /** `|` is the cursor. */
  const at = (marked: string) => {
    const offset = marked.indexOf('|')
    const { role, path, siblings } = placeAt(marked.replace('|', ''), offset)
    return { role, path, siblings }
  }

  test.each([
    ['{|}', 'key', [], []],
    ['{"a": 1, |}', 'key', [], ['a']],
    ['{"a": 1, "b|"}', 'key', [], ['a']],
    ['{"a": |}', 'value', ['a'], []],
    ['{"a": "x|"}', 'value', ['a'], []],
    ['{"a": {"b": |', 'value', ['a', 'b'], []],
    ['{"a": {"b": 1}, |', 'key', [], ['a']],
    ['{"a": [1, |]}', 'value', ['a', 1], []],
    ['{"a": [{"b": tr|', 'value', ['a', 0, 'b'], []],
    ['{"a": , |}', 'key', [], ['a']],
    ['|', 'value', [], []],
  ])('%s', (marked, role, path, siblings) => {
    expect(at(marked)).toEqual({ role, path, siblings })
  })
})

test('the smallest change makes one text of the other', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '💩', '\n'), maxLength: 12 })
  fc.assert(
    fc.property(text, text, (before, after) => {
      const change = smallestChange(before, after)
      const result = change ? before.slice(0, change.from) + change.insert + before.slice(change.to) : before
      expect(result).toBe(after)
    }),
  )
})

test('rows of spreadsheets and of CSV files', () => {
  expect(parseRows('a\tb\r\nc\t"d\ne"\n')).toEqual([
    ['a', 'b'],
    ['c', 'd\ne'],
  ])
  expect(parseRows('a,"b ""q"", c"\n1,2')).toEqual([
    ['a', 'b "q", c'],
    ['1', '2'],
  ])
})
