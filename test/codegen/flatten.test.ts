import { expect, test } from 'vitest'
import { flatten } from '../../src/codegen/schemas/flatten.ts'

const flat = (schema: object) => {
  const { root, definitions } = flatten(schema as never, (name) => `#${name}`)
  return { root, definitions: Object.fromEntries(definitions) }
}

test('each schema that is referred to becomes a definition with a name of its own', () => {
  const { root, definitions } = flat({
    $id: 'urn:tree',
    $defs: {
      node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, all: { $ref: '#' } } },
      unused: { type: 'string' },
      'a/b %': { type: 'number' },
    },
    properties: {
      node: { type: 'boolean' },
      by: { $ref: '#/properties/node' },
      first: { $ref: '#/$defs/node', description: 'kept' },
      odd: { $ref: '#/$defs/a~1b%20%25' },
      choice: { oneOf: [{ type: 'null' }] },
      picked: { $ref: '#/properties/choice/oneOf/0' },
    },
  })

  expect(root.properties).toEqual({
    node: { type: 'boolean' },
    by: { $ref: '#node' },
    first: { $ref: '#node2', description: 'kept' },
    odd: { $ref: '#a/b %' },
    choice: { oneOf: [{ type: 'null' }] },
    picked: { $ref: '#oneOf0' },
  })
  expect(definitions).toEqual({
    node: { type: 'boolean' },
    node2: { type: 'object', properties: { next: { $ref: '#node2' }, all: { $ref: '#' } } },
    'a/b %': { type: 'number' },
    oneOf0: { type: 'null' },
    '': root,
  })
})

test('anchors, addresses and dynamic references lead to the same definitions', () => {
  const { root, definitions } = flat({
    $id: 'https://example.com/root',
    properties: {
      anchor: { $ref: '#here' },
      dynamic: { $dynamicRef: '#here' },
      address: { $ref: 'item' },
      within: { $ref: 'https://example.com/item#/$defs/part' },
      both: { $ref: '#here', $dynamicRef: '#other' },
    },
    $defs: {
      one: { $anchor: 'here', type: 'string' },
      two: { $dynamicAnchor: 'other', type: 'number' },
      three: { $id: 'item', $defs: { part: true }, properties: { own: { $ref: '#/$defs/part' } } },
    },
  })

  expect(root.properties).toEqual({
    anchor: { $ref: '#one' },
    dynamic: { $ref: '#one' },
    address: { $ref: '#three' },
    within: { $ref: '#part' },
    both: { $ref: '#one', allOf: [{ $ref: '#two' }] },
  })
  expect(definitions.three).toEqual({ properties: { own: { $ref: '#part' } } })
  expect(definitions.part).toEqual({})
})

test('a reference that leads nowhere allows anything', () => {
  const { root, definitions } = flat({
    properties: {
      missing: { $ref: '#/$defs/missing', title: 'kept' },
      foreign: { $ref: 'https://example.com/other' },
      list: { $ref: '#/required' },
      inherited: { $ref: '#/constructor' },
      broken: { $ref: 'http://[' },
      number: { $ref: 7 },
    },
    required: ['list'],
  })

  expect(root.properties).toEqual({
    missing: { title: 'kept' },
    foreign: {},
    list: {},
    inherited: {},
    broken: {},
    number: {},
  })
  expect(definitions).toEqual({})
})

test('a schema that is only itself allows anything, and a list of itself stays', () => {
  const { root, definitions } = flat({
    $ref: '#/$defs/a',
    $defs: {
      a: { anyOf: [{ $ref: '#/$defs/b' }, { type: 'null' }] },
      b: { $ref: '#/$defs/a' },
      list: { type: 'array', items: { $ref: '#/$defs/list' } },
    },
    properties: { list: { $ref: '#/$defs/list' } },
  })

  expect(root).toMatchObject({ $ref: '#a', properties: { list: { $ref: '#list' } } })
  expect(definitions).toEqual({
    a: { anyOf: [{ $ref: '#b' }, { type: 'null' }] },
    b: {},
    list: { type: 'array', items: { $ref: '#list' } },
  })
})

test('names of properties and plain values are no keywords', () => {
  const schema = {
    properties: {
      $ref: { type: 'string' },
      $id: { type: 'string' },
      $defs: { type: 'object' },
      items: { const: { $ref: '#' } },
    },
    default: { $ref: '#/properties/$id' },
    enum: [{ $schema: 1 }],
  }

  expect(flat(schema)).toEqual({ root: schema, definitions: {} })
})

test('long chains and many equal names take linear time', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, at) => [
      `d${at}`,
      at === 4_999 ? { $ref: '#/$defs/d0' } : { $ref: `#/$defs/d${at + 1}` },
    ]),
  )
  const properties = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, at) => [`p${at}`, { type: 'array', items: { type: 'string' } }]),
  )
  const refs = Object.keys(properties).map((name) => ({ $ref: `#/properties/${name}/items` }))

  const { definitions } = flat({ $ref: '#/$defs/d0', $defs, properties, anyOf: refs })

  expect(Object.keys(definitions)).toHaveLength(10_000)
  expect(definitions.d4999).toEqual({})
  expect(definitions.items5000).toEqual({ type: 'string' })
})
