/** Patterns: an engine with linear time, and the estimated time of JavaScript's own engine. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createGuard } from '../../src/schemas/bounds/guard.ts'
import { growthOf } from '../../src/schemas/patterns/ambiguity.ts'
import { createLinearMatcher, type Matcher } from '../../src/schemas/patterns/linear.ts'
import { Unreadable } from '../../src/schemas/patterns/syntax.ts'
import { growth, PROPORTIONAL } from '../growth.ts'

const atom = fc.constantFrom(
  ...'a b c . [ab] [^a] \\d \\w \\s \\W é \\u00e9 \\u{1f600} 😀 \\p{L} [\\w-] \\. \\/'.split(' '),
)
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '*?', '{2}', '{0,2}', '{1,}', '{2,12}')
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.tuple(atom, quantifier).map((parts) => parts.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map((parts) => parts.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map((parts) => `(?:${parts.join('|')})`),
    fc.tuple(tie('pattern'), quantifier).map(([body, times]) => `(${body})${times}`),
    fc.constantFrom('^', '$'),
  ),
}))
const anchored = fc.tuple(fc.constantFrom('', '^'), pattern, fc.constantFrom('', '$')).map((parts) => parts.join(''))
const text = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', 'é', '😀', '.', '-', '/', '1', ' ', '\n', '\ud83d'),
  maxLength: 12,
})

it('the linear engine agrees with JavaScript on every pattern it takes', () => {
  fc.assert(
    fc.property(anchored, fc.array(text, { minLength: 1, maxLength: 8 }), (source, texts) => {
      const native = new RegExp(source, 'u')
      const linear = tryToCreate(source)
      fc.pre(linear !== undefined)

      for (const each of texts) expect([each, linear.test(each)]).toEqual([each, native.test(each)])
    }),
    { numRuns: 3_000 },
  )
})

/** Nothing where repeats of repeats make too many states. */
function tryToCreate(source: string): Matcher | undefined {
  try {
    return createLinearMatcher(source)
  } catch (thrown) {
    if (thrown instanceof Unreadable && thrown.message === 'too many states') return undefined
    throw thrown
  }
}

describe('time', () => {
  it.each(['^(a+)+$', '(a|a)*b', '^(a*)*$', 'a+$', '(.*)a{50}', '^(a?){30}a{30}$', '(a|b|ab)*c'])(
    'of the linear engine grows with the text: %s',
    (source) => {
      const matcher = createLinearMatcher(source)

      expect(growth((length) => matcher.test(`${'a'.repeat(length)}!`), 20_000)).toBeLessThan(PROPORTIONAL)
    },
  )

  it.each([
    ['linear', '^\\d{4}-\\d{2}-\\d{2}$'],
    ['linear', '^[a-z0-9]+(?:-[a-z0-9]+)*$'],
    ['linear', '^[A-Z]{1,255}$'],
    ['linear', '^(?!.*\\.\\.)[a-z.]+$'],
    ['linear', z.toJSONSchema(z.ipv6()).pattern as string],
    ['quadratic', z.toJSONSchema(z.email()).pattern as string],
    ['quadratic', '\\s+$'],
    ['unsafe', '^(a+)+$'],
    ['unsafe', '^(a*)*$'],
    ['unsafe', '^(a|a)*$'],
    ['unsafe', '^(a?){30}a{30}$'],
    ['unsafe', `^${'a?'.repeat(30)}${'a'.repeat(30)}$`],
    ['unsafe', '^.*a.*a.*a$'],
    ['unsafe', '^(a+)\\1+$'],
    ['unsafe', '^(?=(a+)+$)'],
  ])('of JavaScript is %s for %s', (expected, source) => {
    expect(growthOf(source)).toBe(expected)
  })

  it('of JavaScript is bounded for every pattern that is said to be linear', { timeout: 60_000 }, () => {
    const pump = fc.string({ unit: fc.constantFrom('a', 'b', '.'), minLength: 1, maxLength: 3 })
    const guard = createGuard()
    fc.assert(
      fc.property(anchored, pump, (source, piece) => {
        fc.pre(growthOf(source) === 'linear')
        const native = new RegExp(source, 'u')

        // The limit is for a hang only: a text of this length takes microseconds, or practically forever.
        expect(() => guard(10_000, () => native.test(`${piece.repeat(40)}!`))).not.toThrow()
      }),
      { numRuns: 1_000 },
    )
  })
})
