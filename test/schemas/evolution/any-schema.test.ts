/** What holds for the comparison of any two schemas. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import { verifies } from '../../requirements.ts'
import { changesOf } from './orders.ts'
import { pair, validatorOf, value } from './schema-pairs.ts'

describe('for any schema', () => {
  const leaf = fc.constantFrom<JsonObject>(
    { type: 'string', minLength: 1 },
    { type: 'integer', maximum: 9 },
    { enum: ['a', 'b'] },
    { $ref: '#' },
    { not: { type: 'null' } },
  )
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      object(tie('schema')),
    ) as fc.Arbitrary<JsonObject>,
  }))

  function object(member: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
    const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
    return fc
      .tuple(fc.uniqueArray(fc.tuple(name, member), { selector: ([key]) => key, maxLength: 3 }), fc.boolean())
      .map(([members, closed]) => ({
        type: 'object',
        properties: Object.fromEntries(members),
        required: members.slice(0, 1).map(([key]) => key),
        ...(closed && { additionalProperties: false }),
      }))
  }

  it('comparing it with itself finds nothing', () => {
    fc.assert(
      fc.property(schema, (argsSchema) => {
        const one: JsonObject = { op: 'v1:x', argsSchema, resultSchema: argsSchema }
        expect(changesOf(structuredClone(one), one)).toEqual([])
      }),
    )
  })

  it('adding an optional argument or a result field never breaks', () => {
    verifies('opencall:218', 'opencall:219')
    fc.assert(
      fc.property(object(schema), schema, (before, field) => {
        const after = { ...before, properties: { ...(before.properties as JsonObject), added: field } }
        const one: JsonObject = { op: 'v1:x', argsSchema: before, resultSchema: before }
        const other: JsonObject = { op: 'v1:x', argsSchema: after, resultSchema: after }
        const breaking = changesOf(other, one).filter(({ kind }) => kind === 'breaking')
        expect(breaking).toEqual([])
      }),
    )
  })

  it('taking away a field always breaks', () => {
    verifies('opencall:225')
    fc.assert(
      fc.property(object(schema), schema, (after, field) => {
        const before = { ...after, properties: { ...(after.properties as JsonObject), gone: field } }
        for (const side of ['argsSchema', 'resultSchema']) {
          const changes = changesOf({ op: 'v1:x', [side]: after }, { op: 'v1:x', [side]: before })
          expect(
            changes.some(({ kind, message }) => kind === 'breaking' && message.includes('"gone" was removed')),
          ).toBe(true)
        }
      }),
    )
  })

  it('no change that is called safe refuses arguments that were good', () => {
    let calledSafe = 0
    fc.assert(
      fc.property(pair(2), fc.array(value, { minLength: 20, maxLength: 20 }), ([before, after], values) => {
        const changes = changesOf({ op: 'v1:x', argsSchema: after }, { op: 'v1:x', argsSchema: before })
        if (changes.some(({ kind }) => kind === 'breaking')) return
        calledSafe++
        const [accepted, accepts] = [validatorOf(before), validatorOf(after)]
        for (const one of values) if (accepted(one)) expect([one, accepts(one)]).toEqual([one, true])
      }),
      { numRuns: 1_000 },
    )
    expect(calledSafe).toBeGreaterThan(100)
  })
})
