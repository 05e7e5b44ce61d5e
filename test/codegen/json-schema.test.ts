import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { generateJsonSchema } from '../../src/codegen/documents/json-schema.ts'
import { readCatalogue } from '../../src/codegen/read-catalogue.ts'

test('one document holds every schema, and a validator follows its references', () => {
  const tree = {
    type: 'object',
    properties: {
      value: { type: 'number' },
      children: { type: 'array', items: { $ref: '#' } },
      tag: { $ref: '#/$defs/a~1b' },
    },
    required: ['value'],
    $defs: { 'a/b': { type: 'string' } },
  }
  const catalogue = readCatalogue({
    operations: [
      { op: 'v1:trees.add', argsSchema: tree, resultSchema: { type: 'null' }, description: 'Adds a tree.' },
      {
        op: 'v1:device.watch',
        executionModel: 'stream',
        argsSchema: {},
        resultSchema: {},
        frameSchema: { type: 'integer' },
      },
    ],
  })

  const { path, text } = generateJsonSchema(catalogue)
  const document = JSON.parse(text)
  const ajv = new Ajv2020({ strict: true, strictTypes: false }).addSchema(document, 'doc')
  const args = ajv.getSchema('doc#/$defs/v1:trees.add/$defs/args')

  expect(path).toBe('operations.schema.json')
  expect(Object.keys(document.$defs)).toEqual(['v1:device.watch', 'v1:trees.add'])
  expect(document.$defs['v1:device.watch'].$defs.frame).toEqual({ type: 'integer' })
  expect(args?.({ value: 1, children: [{ value: 2, tag: 'x' }] })).toBe(true)
  expect(args?.({ value: 1, children: [{ value: 2, tag: 3 }] })).toBe(false)
  expect(args?.({ value: 1, children: [{}] })).toBe(false)
})
