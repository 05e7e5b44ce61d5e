import ts from 'typescript'
import { expect, test } from 'vitest'
import { readCatalogue } from '../../src/codegen/read-catalogue.ts'
import { typeOf } from '../../src/codegen/typescript/type-of.ts'
import { generateTypes } from '../../src/codegen/typescript/types.ts'

const object = (properties: object, ...required: string[]) => ({ type: 'object', properties, required })

test('each keyword that has a meaning for types is in the type', () => {
  const types: [schema: unknown, type: string][] = [
    [true, 'unknown'],
    [{}, 'unknown'],
    [false, 'never'],
    [{ not: {} }, 'never'],
    [{ type: ['integer', 'null'] }, 'number | null'],
    [{ const: "it's" }, "'it\\'s'"],
    [{ enum: ['a', 1, null, true, { b: [1] }] }, "'a' | 1 | null | true | { b: [1] }"],
    [{ enum: Array.from({ length: 5_000 }, (_, at) => `v${at}`) }, 'string'],
    [{ type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
    [{ prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 1, items: false }, '[string, number?]'],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'null' } }, '[string?, ...null[]]'],
    [{ type: 'array', maxItems: 0 }, '[]'],
    [{ type: 'object' }, '{ [key: string]: unknown }'],
    [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, '{ [key: string]: number }'],
    [object({ a: { type: 'string' }, b: { type: 'number' } }, 'a'), '{\n  a: string\n  b?: number\n}'],
    [
      { ...object({ a: { type: 'string' } }), additionalProperties: { type: 'number' } },
      '{\n  a?: string\n  [key: string]: number | string | undefined\n}',
    ],
    [
      {
        type: 'object',
        propertyNames: { enum: ['x', 'y'] },
        additionalProperties: { type: 'number' },
        required: ['x'],
      },
      '{\n  x: number\n  y?: number\n}',
    ],
    [{ patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false }, '{ [key: string]: string }'],
    [{ oneOf: [{ type: 'string' }, { type: 'number' }, false] }, 'string | number'],
    [{ type: 'string', anyOf: [{ const: 'a' }, { const: 'b' }] }, "string & ('a' | 'b')"],
    [{ type: 'object', allOf: [{ $ref: 'A' }, { $ref: 'B' }], unevaluatedProperties: false }, 'A & B'],
    [JSON.parse('{"if":{},"then":{"type":"string"},"else":{"type":"null"}}'), 'string | null'],
    [JSON.parse('{"if":{},"then":{"type":"string"}}'), 'unknown'],
    [{ type: 'frobnicate', pattern: '^a' }, 'unknown'],
  ]

  for (const [schema, type] of types) expect(typeOf(schema as never)).toBe(type)
})

test('the types of a registry compile, and fit the values of the schemas', () => {
  const tree = {
    ...object(
      { value: { type: 'number' }, children: { type: 'array', items: { $ref: '#' } }, tag: { $ref: '#/$defs/tag' } },
      'value',
    ),
    $defs: { tag: { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/$defs/tag' } }] } },
  }
  const { path, text } = generateTypes(
    readCatalogue({
      operations: [
        {
          op: 'v1:trees.add',
          argsSchema: tree,
          resultSchema: { type: 'null' },
          errors: { FULL: { description: 'x' }, DRY: {} },
        },
        { op: 'v1:device.watch', executionModel: 'stream', frameSchema: object({ x: { type: 'number' } }, 'x') },
        { op: 'v1:files.describe', mediaSchema: [{ name: 'file' }, { name: 'other' }] },
        {
          op: 'v1:orders.export',
          executionModel: 'async',
          chunked: true,
          resultSchema: object({ rows: { type: 'number' } }),
        },
      ],
    }),
  )
  const use = `
    import type { Operations } from './operations'
    const tree: Operations['v1:trees.add']['args'] = { value: 1, children: [{ value: 2, tag: ['a', ['b']] }] }
    // @ts-expect-error The value is missing.
    const wrong: Operations['v1:trees.add']['args'] = { children: [{}] }
    const error: Operations['v1:trees.add']['errors'][] = ['DRY', 'FULL']
    const frame: Operations['v1:device.watch']['frame'] = { x: 1 }
    const media: Operations['v1:files.describe']['media'][] = ['file', 'other']
    const chunks: Operations['v1:orders.export']['result'] = { kind: 'chunks', mimeType: 'text/csv', value: { rows: 1 } }
    const anything: Operations['v1:device.watch']['args'] = { any: 'thing' }`

  expect(path).toBe('operations.d.ts')
  expect(problemsIn(text, use)).toEqual([])
})

test('no name or text of a hostile registry leaves its place', () => {
  const hostile = '*/ export const x = 1 /* \n\u2028 ` $y \\ \' " </script>'
  const properties = JSON.parse(`{"__proto__":{"type":"string"},"constructor":{"type":"number"},"":{"type":"null"}}`)
  const { text } = generateTypes(
    readCatalogue({
      operations: [
        {
          op: 'v1:a.b_c',
          description: hostile,
          argsSchema: {
            type: 'object',
            properties: { ...properties, [hostile]: { description: hostile, const: hostile, default: hostile } },
            required: ['__proto__', hostile],
          },
          resultSchema: {
            $ref: '#/$defs/a%20b',
            $defs: { 'a b': { $ref: '#/$defs/a-b' }, 'a-b': { type: 'array', items: { $ref: '#/$defs/a b' } } },
          },
          errors: { [hostile]: {} },
          deprecated: true,
          replacement: hostile,
          mediaSchema: [{ name: hostile }],
        },
        // Its types would have the same names as those of the first one.
        { op: 'v1:a_b.c', resultSchema: { $ref: '#/$defs/x', $defs: { x: { items: { $ref: '#/$defs/x' } } } } },
        { op: 'v1:a.b-c', resultSchema: { $ref: '#/$defs/x', $defs: { x: { items: { $ref: '#/$defs/x' } } } } },
      ],
    }),
  )
  const use = `
    import type { Operations } from './operations'
    import type * as everything from './operations'
    const own: Operations['v1:a.b_c']['args']['__proto__'] = 'text'
    // @ts-expect-error Nothing else is exported.
    type Escaped = everything.x`

  expect(problemsIn(text, use)).toEqual([])
})

/** Compiles the types with a program that uses them, without a file system. */
function problemsIn(types: string, use: string): string[] {
  const files = new Map([
    ['/operations.d.ts', types],
    ['/use.ts', use],
  ])
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    noLib: false,
    lib: ['lib.es2022.d.ts'],
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.getSourceFile = (name, ...rest) => {
    const text = files.get(name)
    return text === undefined
      ? getSourceFile.call(host, name, ...rest)
      : ts.createSourceFile(name, text, ts.ScriptTarget.ES2022)
  }
  host.fileExists = (name) => files.has(name) || fileExists.call(host, name)
  host.readFile = (name) => files.get(name) ?? readFile.call(host, name)
  const program = ts.createProgram([...files.keys()], options, host)
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, start = 0, messageText }) =>
        `${file?.fileName} ${file?.text.slice(start, start + 40)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    )
}
