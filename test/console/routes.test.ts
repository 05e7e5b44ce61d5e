/** The table of routes: every address leads to its place and back, whatever characters its parts hold. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { href, placeOf, ROUTES, type RouteName } from '../../console/src/routes.ts'

const text = fc.string({ minLength: 1, unit: 'grapheme' })
const build = href as (name: RouteName, params: object, query: object) => string

test('every route with any parameters and query is read back as it was written', () => {
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const { path, query: names } = ROUTES[name]
    const params = fc.record(Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, key]) => [key, text])))
    const query = fc.record(Object.fromEntries(names.map((key) => [key, text])))
    fc.assert(
      fc.property(params, query, (params, query) => {
        expect(placeOf(build(name, params, query))).toEqual({ name, params, query })
      }),
      { numRuns: 50 },
    )
  }
})

test('operations and filters stay readable in a link', () => {
  expect(href('operation', { op: 'v1:orders.getItem' })).toBe('#/op/v1:orders.getItem')
  expect(href('runs', {}, { f: 'op:v1:orders.*' })).toBe('#/runs?f=op:v1:orders.*')
})

test('an address of no route has no place, and unknown names in a query are dropped', () => {
  expect(placeOf('#/nowhere')).toBeUndefined()
  expect(placeOf('#/run/')).toBeUndefined()
  expect(placeOf('')).toMatchObject({ name: 'explore' })
  expect(placeOf('#/runs?f=a&run=now&peek=%E0%A4')).toEqual({
    name: 'runs',
    params: {},
    query: { f: 'a', peek: '%E0%A4' },
  })
})
