/** The structural difference: every leaf of both values is accounted for once. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compare, leavesOf } from '../../console/src/diff/structure.ts'

test('changed, added and removed places are named', () => {
  const before = { order: 'A-1', items: [{ price: 1 }, { price: 2 }], note: 'x', 'odd name': {} }
  const after = { order: 'A-2', items: [{ price: 1 }], tags: ['new'], 'odd name': {} }
  expect(compare(before, after)).toEqual([
    { path: 'order', change: 'changed', before: 'A-1', after: 'A-2' },
    { path: 'items[0].price', change: 'same', before: 1, after: 1 },
    { path: 'items[1].price', change: 'removed', before: 2 },
    { path: 'note', change: 'removed', before: 'x' },
    { path: '["odd name"]', change: 'same', before: {}, after: {} },
    { path: 'tags[0]', change: 'added', after: 'new' },
  ])
})

test('a value of another kind is one side removed and the other added', () => {
  expect(compare({ a: 1 }, { a: { b: 2 } })).toEqual([
    { path: 'a', change: 'removed', before: 1 },
    { path: 'a.b', change: 'added', after: 2 },
  ])
  expect(compare(undefined, [])).toEqual([{ path: '', change: 'changed', before: undefined, after: [] }])
})

test('a value does not differ from its copy, and every leaf of the newer value is shown', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      expect(compare(one, structuredClone(one)).every(({ change }) => change === 'same')).toBe(true)
      const shown = new Set(
        compare(one, other)
          .filter((each) => 'after' in each)
          .map(({ path }) => path),
      )
      for (const { path } of leavesOf(other)) expect(shown).toContain(path)
    }),
  )
})
