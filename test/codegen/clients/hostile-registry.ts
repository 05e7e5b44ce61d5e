/** A registry whose names, texts and schemas break generators that do not expect them. */

const TEXT = [
  'Ends a comment: */ and a docstring: """ and \'\'\' and a raw string: ` ',
  '# a heading',
  '',
  '[a link]: https://example.invalid',
  '//go:build ignore',
  '\tindented\tcode',
  '- a list',
  '  1. another',
  'right to left: \u202edetrever\u202c, a null: \u0000, a separator: \u2028, half a pair: \ud800.',
  'It ends with a backslash \\ and a quote "',
].join('\n')

const object = (properties: object, extra = {}) => ({ type: 'object', properties, ...extra })

/** The keys that a field can have, and a value that is fine for all of them. */
const KEYS = [
  'class',
  'None',
  'self',
  '__init__',
  '__proto__',
  'a-b',
  'ключ',
  '1st',
  'A',
  'a',
  'json',
  'type',
  'Media',
  '-',
  'x'.repeat(300),
]
/** Keys that a struct of Go cannot have. */
const UNTAGGED = ['', 'a"b', 'a`b', 'a,b', 'a\nb', 'a\\b', '"""', '\u202e', '\ud800', '😀']

const allOf = (keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, { type: 'string', description: TEXT }]))

let deep: object = { type: 'string' }
for (let depth = 0; depth < 60; depth++) deep = object({ next: deep })

const SCHEMAS: Readonly<Record<string, object | boolean>> = {
  'v1:shapes.keys': object(allOf(KEYS), { required: KEYS, description: TEXT }),
  'v1:shapes.untagged': object(allOf(UNTAGGED), { description: TEXT }),
  'v1:shapes.enums': object({
    text: { enum: ['', 'a', 'A', 'a b', '"', '\\', '\n', '*/', '\ud800', '😀', 'None'] },
    mixed: { enum: [1, 1.5, 'x', true, null] },
    numbers: { enum: [1, 2, 3.5] },
    one: { const: 'only' },
    nothing: { const: null },
    objects: { enum: [{ a: 1 }] },
    many: { enum: Array.from({ length: 500 }, (_, index) => `value ${index}`) },
  }),
  'v1:shapes.unions': object(
    {
      nullable: { type: ['string', 'null'] },
      anyNull: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      shapes: {
        oneOf: [
          object(
            { kind: { const: 'circle' }, radius: { type: 'number' } },
            { required: ['kind', 'radius'], title: 'Circle' },
          ),
          object({ kind: { const: 'square' }, side: { type: 'number' } }, { required: ['kind'], title: 'Circle' }),
          { type: 'array', items: { type: 'string' } },
        ],
      },
      numbers: { anyOf: [{ type: 'integer' }, { type: 'number' }] },
      listOrNull: { anyOf: [{ type: 'array', items: { type: ['integer', 'null'] } }, { type: 'null' }] },
      tuple: { type: 'array', prefixItems: [{ type: 'string' }, object({ a: {} })], items: false },
      map: { type: 'object', additionalProperties: object({ a: { type: 'string' } }) },
      openapi: { type: 'string', nullable: true },
    },
    { required: ['nullable', 'shapes', 'listOrNull', 'openapi'] },
  ),
  'v1:shapes.merged': {
    allOf: [object({ a: { type: 'string' } }, { required: ['a'] }), { $ref: '#/$defs/Base' }, { required: ['b'] }],
    $defs: { Base: object({ b: { type: 'integer' }, a: true }) },
  },
  'v1:shapes.tree': {
    ...object({
      value: { $ref: '#/$defs/Json' },
      children: { type: 'array', items: { $ref: '#' } },
      up: { $ref: '#/$defs/Up' },
    }),
    $defs: {
      Json: {
        anyOf: [
          { type: 'string' },
          { type: 'null' },
          { type: 'array', items: { $ref: '#/$defs/Json' } },
          { type: 'object', additionalProperties: { $ref: '#/$defs/Json' } },
        ],
      },
      Up: object({ over: { $ref: '#/$defs/Over' }, same: { $ref: '#/$defs/Same' } }, { required: ['over'] }),
      // Required in a circle: no value can exist, but the code must still compile.
      Over: object({ up: { $ref: '#/$defs/Up' } }, { required: ['up'] }),
      Same: { $ref: '#/$defs/Same' },
    },
  },
  'v1:shapes.deep': deep,
  'v1:shapes.anything': true,
  'v1:shapes.nothing': false,
  'v1:shapes.strange': { type: 'string', properties: 7, required: 'x', enum: 'no', anyOf: [], items: [] },
  'v1:shapes.names': object({
    'v1:Client': object({ Client: object({ client: { type: 'string' } }) }),
    Args: object({}),
    args: { type: 'object' },
  }),
}

const NAMES = [
  'v1:class',
  'v1:def.import',
  'v1:call',
  'v1:close',
  'v1:stream',
  'v1:orders',
  'v2:orders',
  'v1:orders.getItem',
  'v1:orders.get_item',
  'v1:orders.GetItem',
  'v1:orders.get-item',
  'v1:v2.orders',
  'v1:None.True',
  'v1:Client',
  'v1:Fault.Media',
  'v1:Any.TypedDict.Literal',
  'v1:func.range',
  'v1:x1.y-2.z_3',
  'v999999999:far.away',
]

interface HostileEntry {
  op: string
  [fact: string]: unknown
}

/** The argument and the result of an operation have the same schema. */
export const HOSTILE: { callVersion: string; operations: HostileEntry[] } = {
  callVersion: '2026-02-10',
  operations: [
    ...NAMES.map((op) => ({
      op,
      description: TEXT,
      argsSchema: object({ value: { type: 'string', description: TEXT } }),
      resultSchema: object({ value: { type: 'string' } }),
      authScopes: ['a"""b', 'c*/'],
      deprecated: true,
      sunset: '2099-01-01"""',
      replacement: 'v2:orders*/',
      maxSyncMs: 5000,
    })),
    ...Object.entries(SCHEMAS).map(([op, schema]) => ({ op, argsSchema: schema, resultSchema: schema })),
    {
      op: 'v1:streams.bytes',
      executionModel: 'stream',
      argsSchema: object({ transport: { type: 'string' }, encoding: { type: 'string' } }),
      frameSchema: object({ n: { type: 'integer' } }),
      supportedEncodings: ['cbor'],
    },
    {
      op: 'v1:streams.frames',
      executionModel: 'stream',
      frameSchema: { type: ['integer', 'null'] },
    },
    { op: 'v1:chunks.read', chunked: true, argsSchema: {}, resultSchema: {} },
    {
      op: 'v1:media.send',
      mediaSchema: [
        { name: 'file', required: true, acceptedTypes: ['image/*'], maxBytes: 10 },
        { name: 'class', required: false, acceptedTypes: ['"""*/'], maxBytes: 1 },
        { name: 'a "b"\n', required: false },
        { name: 'media' },
      ],
    },
  ],
}
