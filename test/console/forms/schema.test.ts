/** What a form shows for a schema, before any browser: fields, branches, first values, sensitive values. */
import { describe, expect, test } from 'vitest'
import { Edits } from '../../../console/src/forms/fields/edits.ts'
import { type Field, readField } from '../../../console/src/forms/schema/field.ts'
import { FormModel } from '../../../console/src/forms/schema/model.ts'
import { withoutSensitive } from '../../../console/src/forms/schema/sensitive.ts'
import { startText } from '../../../console/src/forms/schema/start.ts'
import { nodeAt, type Path } from '../../../console/src/forms/text/nodes.ts'
import { parseText } from '../../../console/src/forms/text/parse.ts'

/** The field at a path, for a schema and a text. */
function fieldOf(schema: unknown, text = '{}', path: Path = []): Field {
  const model = new FormModel(schema)
  const { root } = parseText(text)
  return readField(model, model.apply(model.placeAt(root, path), nodeAt(root, path), path))
}

const names = (field: Field) => field.properties.map(({ name, required }) => (required ? `${name}!` : name))

describe('fields', () => {
  test('all schemas of an allOf apply: the narrowest limits, all properties', () => {
    const field = fieldOf({
      title: 'Order',
      allOf: [
        { title: 'inner', properties: { a: { type: 'string', maxLength: 9 } }, required: ['a'] },
        { properties: { a: { maxLength: 5 }, b: {} }, required: ['b'] },
      ],
    })
    expect(field.title).toBe('Order')
    expect(names(field)).toEqual(['a!', 'b!'])
    const schema = { properties: { a: { allOf: [{ type: ['string', 'null'] }, { type: 'string', maxLength: 5 }] } } }
    expect(fieldOf(schema, '{}', ['a'])).toMatchObject({ kinds: ['string'], nullable: false, maxLength: 5 })
  })

  test('draft 7 hides what stands beside a reference, 2020-12 does not', () => {
    const schema = {
      properties: { a: { $ref: '#/definitions/x', title: 'beside' } },
      definitions: { x: { title: 'target' } },
    }
    expect(fieldOf(schema, '{}', ['a']).title).toBe('beside')
    const old = { $schema: 'http://json-schema.org/draft-07/schema#', ...schema }
    expect(fieldOf(old, '{}', ['a']).title).toBe('target')
  })

  test('draft 7 tuples and dependencies', () => {
    const schema = {
      properties: { pair: { items: [{ type: 'string' }, { type: 'integer' }], additionalItems: false } },
      dependencies: { a: { properties: { b: {} } } },
    }
    expect(fieldOf(schema, '{"pair": []}', ['pair'])).toMatchObject({ kinds: ['array'], tuple: 2, items: false })
    expect(names(fieldOf(schema, '{}'))).toEqual(['pair'])
    expect(names(fieldOf(schema, '{"a": 1}'))).toEqual(['pair', 'b'])
  })

  test('references by $id, by anchor and by a pointer with escapes', () => {
    const schema = {
      $id: 'https://example.com/root',
      properties: { a: { $ref: 'item' }, b: { $ref: '#named' }, c: { $ref: '#/$defs/x~1y%20z' } },
      $defs: {
        item: { $id: 'item', $ref: '#/$defs/inner', $defs: { inner: { title: 'by id' } } },
        n: { $anchor: 'named', title: 'by anchor' },
        'x/y z': { title: 'by pointer' },
      },
    }
    expect(['a', 'b', 'c'].map((name) => fieldOf(schema, '{}', [name]).title)).toEqual([
      'by id',
      'by anchor',
      'by pointer',
    ])
  })

  test('conditions follow the value', () => {
    const schema = {
      properties: { kind: { enum: ['a', 'b'] } },
      if: { properties: { kind: { const: 'b' } }, required: ['kind'] },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
      then: { required: ['extra'] },
      else: { properties: { other: {} } },
    }
    expect(names(fieldOf(schema, '{"kind": "b"}'))).toEqual(['kind', 'extra!'])
    expect(names(fieldOf(schema, '{"kind": "a"}'))).toEqual(['kind', 'other'])
  })

  test('enums keep their types, and null is a state, not an option', () => {
    const field = fieldOf({ enum: ['1', 1, true, null] }, '1')
    expect(field.options?.map((option) => option.text)).toEqual(['"1"', '1', 'true'])
    expect(field.nullable).toBe(true)
  })

  test('unknown keywords, exclusions and foreign references are told', () => {
    const field = fieldOf({ 'x-widget': 'slider', not: { const: 1 }, $ref: 'https://example.com/s' })
    expect(field).toMatchObject({
      unknown: ['x-widget'],
      forbidden: ['{"const":1}'],
      unresolved: ['https://example.com/s'],
    })
  })

  test('deep and doubled allOf costs as much as it has schemas', () => {
    const $defs: Record<string, unknown> = { x200: { properties: { end: {} } } }
    for (let n = 0; n < 200; n++)
      $defs[`x${n}`] = { allOf: [{ $ref: `#/$defs/x${n + 1}` }, { $ref: `#/$defs/x${n + 1}` }] }
    expect(() => fieldOf({ $ref: '#/$defs/x0', $defs })).not.toThrow()
  })
})

describe('branches', () => {
  const shapes = {
    oneOf: [
      { title: 'Circle', properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['kind', 'r'] },
      {
        title: 'Square',
        properties: { kind: { const: 'square' }, side: { type: 'number' } },
        required: ['kind', 'side'],
      },
    ],
  }
  const active = (schema: unknown, text: string) => fieldOf(schema, text).choices.map((choice) => choice.active)

  test('the discriminator decides, even if the rest is wrong', () => {
    expect(active(shapes, '{"kind": "square", "r": 1}')).toEqual([1])
  })

  test('without one, the branch that fits decides', () => {
    const either = {
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }, { type: 'integer', minimum: 5 }],
    }
    expect(active(either, '["a"]')).toEqual([1])
    expect(active(either, '7')).toEqual([2])
    expect(active(either, '3')).toEqual([2])
  })

  test('a null branch makes the other one nullable', () => {
    const field = fieldOf({ anyOf: [{ type: 'null' }, { type: 'integer' }] }, '3')
    expect(field).toMatchObject({ nullable: true, kinds: ['integer'], choices: [] })
  })

  test('switching keeps shared properties, sets the constant, and brings old values back', () => {
    let parsed = parseText('{"kind": "circle", "r": 1e400, "note": "stays"}')
    let picks: ReadonlyMap<string, number> = new Map()
    const base = new FormModel({ ...shapes, properties: { note: {} } })
    const edits = new Edits(
      () => parsed,
      (next) => {
        parsed = next
      },
      (key, branch) => {
        picks = new Map([...picks, [key, branch]])
      },
    )
    const go = (branch: number) => {
      const model = base.withPicks(picks)
      const [choice] = model.apply(model.root, parsed.root, []).choices
      if (choice) edits.switchTo(model, choice, model.root, [], branch)
    }
    go(1)
    expect(parsed.text).toBe('{"kind": "square", "note": "stays"}')
    go(0)
    expect(parsed.text).toBe('{"kind": "circle", "r": 1e400, "note": "stays"}')
  })
})

describe('first values', () => {
  const start = (schema: unknown) => {
    const model = new FormModel(schema)
    return startText(model, model.root)
  }

  test('constants and required objects are there, defaults and optional ones are not', () => {
    const schema = {
      type: 'object',
      required: ['version', 'inner', 'name'],
      properties: {
        version: { const: 2 },
        name: { type: 'string', default: 'x' },
        optional: { const: 1 },
        inner: { type: 'object', required: ['fixed'], properties: { fixed: { const: null }, kind: { const: 'k' } } },
      },
    }
    expect(JSON.parse(start(schema))).toEqual({ version: 2, inner: {} })
  })

  test('an object that requires itself ends', () => {
    expect(JSON.parse(start({ type: 'object', required: ['a'], properties: { a: { $ref: '#' } } }))).toHaveProperty(
      'a.a.a',
    )
  })
})

describe('sensitive values', () => {
  const schema = {
    properties: {
      user: { type: 'string' },
      secret: { type: 'string', writeOnly: true },
      list: { items: { properties: { pin: { format: 'password' } } } },
      pins: { items: { type: 'string', format: 'password' } },
      auth: {
        oneOf: [
          { properties: { user: { type: 'string' } }, required: ['user'] },
          { properties: { token: { writeOnly: true } }, required: ['token', 'x'] },
        ],
      },
    },
  }

  test('are left out; every other byte stays', () => {
    expect(withoutSensitive('{"user":"a",  "secret": "s", "big": 1e400}', schema)).toBe('{"user":"a",  "big": 1e400}')
    expect(withoutSensitive('{"list": [{"pin": "1"}, {"pin": "2", "a": 1}]}', schema)).toBe('{"list": [{}, {"a": 1}]}')
    expect(withoutSensitive('{"pins": ["1", "2"]}', schema)).toBe('{"pins": [null, null]}')
  })

  test('are found in every branch, chosen or not', () => {
    expect(withoutSensitive('{"auth": {"user": "u", "token": "t"}}', schema)).toBe('{"auth": {"user": "u"}}')
  })

  test('a broken text is not shared if there may be one in it', () => {
    expect(withoutSensitive('{"secret": "s', schema)).toBeUndefined()
    expect(withoutSensitive('{"user": "a', { properties: { user: {} } })).toBe('{"user": "a')
  })
})
