/** The text of a filter: chips and text are one string, and every part is sent or named as not understood. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAuditFilter } from '../../console/src/filter/audit-filter.ts'
import { toggleTerms, withFixedTimes, withoutTerm, withTerm } from '../../console/src/filter/terms.ts'
import { mayMatch } from '../../console/src/runs/may-match.ts'
import { readCallFilter } from '../../src/core/filter/call-filter.ts'
import { termsOf, termText } from '../../src/core/filter/terms.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

test('a filter of every kind of term becomes the filter of the server', () => {
  const text = 'state:error,running is:held op:v1:orders.* code:TIMEOUT attempts:2 slow:1.5s since:1h "acme corp" plus'
  expect(readCallFilter(text, NOW)).toEqual({
    filter: {
      state: ['error', 'pending'],
      held: true,
      operation: 'v1:orders.*',
      code: 'TIMEOUT',
      minAttempts: 2,
      minMs: 1500,
      since: '2026-03-01T11:00:00.000Z',
      text: 'acme corp plus',
    },
    unknown: [],
  })
})

test('what means nothing is named and not sent', () => {
  expect(readCallFilter('state:gone colour:red since:noon op:', NOW)).toEqual({
    filter: {},
    unknown: ['state:gone', 'colour:red', 'since:noon', 'op:'],
  })
  const inherited = 'constructor:x state:constructor'
  expect(readCallFilter(inherited, NOW)).toEqual({ filter: {}, unknown: inherited.split(' ') })
  expect(readAuditFilter('constructor:x', NOW)).toEqual({ filter: {}, unknown: ['constructor:x'] })
  const endless = 'since:99999999999w slow:9999999999999999999w until:+275760-09-13T00:00:00Z'
  expect(readCallFilter(endless, NOW)).toEqual({ filter: {}, unknown: endless.split(' ') })
  expect(readAuditFilter('verdict:maybe owner:ada', NOW)).toEqual({
    filter: { owner: 'ada' },
    unknown: ['verdict:maybe'],
  })
})

test('names that every object has are names like others', () => {
  expect(readCallFilter('constructor:x state:constructor', NOW)).toEqual({
    filter: {},
    unknown: ['constructor:x', 'state:constructor'],
  })
  expect(readAuditFilter('constructor:x', NOW)).toEqual({ filter: {}, unknown: ['constructor:x'] })
})

test('a call that has just begun is announced if the operation of the filter stands for it', () => {
  const change = { operation: 'v1:orders.ship@1.0.0', state: 'pending' }
  for (const wanted of ['v1:orders.ship', 'v1:orders.ship@1.0.0', 'v1:orders.*', '*'])
    expect(mayMatch({ operation: wanted }, change)).toBe(true)
  for (const wanted of ['v1:orders.sh', 'v1:orders.ship@1.0', 'v1:stock.*'])
    expect(mayMatch({ operation: wanted }, change)).toBe(false)
  expect(mayMatch({ state: ['complete'] }, change)).toBe(false)
})

test('any value survives as a term, and taking it away leaves the rest as it was', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (value) => {
      const text = withTerm('state:error', 'owner', value)
      const added = termsOf(text).find(({ key }) => key === 'owner')
      expect(added?.value).toBe(value)
      expect(added && withoutTerm(text, added)).toBe('state:error')
      expect(termsOf(termText('', value))).toMatchObject([{ key: '', value }])
    }),
  )
})

test('a preset is switched on in place of another value of its key, and off again', () => {
  expect(toggleTerms('state:error op:x', 'state:complete')).toBe('state:complete op:x')
  expect(toggleTerms('state:complete op:x', 'state:complete')).toBe('op:x')
})

test('a shared link has absolute times', () => {
  expect(withFixedTimes('since:1h state:error', NOW)).toBe('since:2026-03-01T11:00:00.000Z state:error')
})
