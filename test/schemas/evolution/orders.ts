/** An operation with a schema of every kind, and what a comparison says about a change of it. */
import type { JsonObject } from '../../../src/core/json.ts'
import { type Change, compareRegistries } from '../../../src/schemas/evolution/registries.ts'

export const TODAY = '2026-06-15'

/** The operation that the tests change. */
export const entry: JsonObject = {
  op: 'v1:orders.place',
  executionModel: 'async',
  sideEffecting: true,
  idempotencyRequired: false,
  authScopes: ['orders:write'],
  argsSchema: {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 2, maxLength: 40 },
      amount: { type: 'number', minimum: 1, maximum: 100 },
      count: { type: 'integer' },
      speed: { enum: ['slow', 'fast'] },
      code: { type: 'string', pattern: '^[A-Z]+$', format: 'hostname' },
      lines: { type: 'array', maxItems: 9, items: { $ref: '#/$defs/line' } },
      pay: { oneOf: [payment('card', 'number'), payment('cash', 'currency')] },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['city'],
    $defs: {
      line: {
        type: 'object',
        properties: { sku: { type: 'string' }, parts: { type: 'array', items: { $ref: '#/$defs/line' } } },
        required: ['sku'],
      },
    },
  },
  resultSchema: {
    type: 'object',
    properties: { id: { type: 'string' }, state: { enum: ['open', 'done'] }, total: { type: 'number' } },
    required: ['id'],
  },
  mediaSchema: [{ name: 'scan', required: false, acceptedTypes: ['image/png', 'image/jpeg'], maxBytes: 1000 }],
}

export function payment(kind: string, field: string): JsonObject {
  return {
    type: 'object',
    properties: { kind: { const: kind }, [field]: { type: 'string' } },
    required: ['kind', field],
  }
}

/** Sets the value at a path such as `argsSchema/properties/city/minLength`; `undefined` takes it away. */
export function edited(path: string, value: unknown, from = entry): JsonObject {
  const copy = structuredClone(from)
  const keys = path.split('/')
  const last = keys.pop() as string
  const holder = keys.reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy)
  if (value === undefined) delete holder[last]
  else holder[last] = value
  return copy
}

export function registry(...operations: JsonObject[]) {
  return { callVersion: '2026-02-10', operations }
}

export function changesOf(after: JsonObject, before = entry): Change[] {
  return compareRegistries(registry(before), registry(after), TODAY)
}

/** Paths of the arguments and of the fields of the result. */
export const args = 'argsSchema/properties'
export const result = 'resultSchema/properties'
