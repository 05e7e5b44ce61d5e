/** Operations behave the same with every schema library. */
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { Fault } from '../../src/core/fault.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { Schema } from '../../src/core/operation/schema.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'
import { verifies } from '../requirements.ts'

interface Row {
  library: string
  /** `city` a text, `days` a number from 1 to 7 (default: 3), `tags` a list of texts that may be absent. */
  args: Schema
  /** `sum`, a number. */
  result: Schema
  /** The `$schema` that its developer declared. */
  dialect?: string
  published: { args: object; result: object }
}

const tags = { type: 'array', items: { type: 'string' } }
const days = { type: 'number', minimum: 1, maximum: 7 }
const sum = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }

const TABLE: Row[] = [
  {
    library: 'zod',
    args: z.object({
      city: z.string(),
      days: z.number().min(1).max(7).default(3),
      tags: z.array(z.string()).optional(),
    }),
    result: z.object({ sum: z.number() }),
    published: {
      args: { properties: { city: { type: 'string' }, days: { ...days, default: 3 }, tags }, required: ['city'] },
      // The result has no unknown keys: zod removed them.
      result: { ...sum, additionalProperties: false },
    },
  },
  {
    library: 'zod/mini',
    args: mini.object({
      city: mini.string(),
      days: mini._default(mini.number().check(mini.minimum(1), mini.maximum(7)), 3),
      tags: mini.optional(mini.array(mini.string())),
    }),
    result: mini.object({ sum: mini.number() }),
    published: {
      args: { properties: { city: { type: 'string' }, days: { ...days, default: 3 }, tags }, required: ['city'] },
      result: { ...sum, additionalProperties: false },
    },
  },
  {
    library: 'valibot',
    args: v.object({
      city: v.string(),
      days: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(7)), 3),
      tags: v.optional(v.array(v.string())),
    }),
    result: v.object({ sum: v.number() }),
    published: {
      args: { properties: { city: { type: 'string' }, days: { ...days, default: 3 }, tags }, required: ['city'] },
      result: sum,
    },
  },
  {
    library: 'arktype',
    args: type({ city: 'string', days: '1 <= number <= 7 = 3', 'tags?': 'string[]' }),
    result: type({ sum: 'number' }),
    published: { args: { properties: { city: { type: 'string' }, days, tags }, required: ['city'] }, result: sum },
  },
  {
    library: 'JSON Schema',
    args: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { city: { type: 'string' }, days: { ...days, default: 3 }, tags },
      required: ['city'],
    },
    result: sum,
    dialect: 'https://json-schema.org/draft/2020-12/schema',
    published: {
      args: { properties: { city: { type: 'string' }, days: { ...days, default: 3 }, tags }, required: ['city'] },
      result: sum,
    },
  },
]

const idle = (): never => {
  throw new Error('Only the schemas are used here.')
}

function faultOf(act: () => unknown): Fault {
  try {
    act()
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

function pathsOf(fault: Fault): string[] {
  return ((fault.details?.issues ?? []) as JsonObject[]).map((issue) => String(issue.path))
}

describe.each(TABLE)('an operation written with $library', ({ args, result, dialect, published }) => {
  const prepared = prepareSchemas(operation('v1:weather.sum', { args, result, run: idle }))

  it('gets the arguments with defaults filled in, at once, and leaves what was received as it was', () => {
    const received = { city: 'Bern', tags: ['a'] }

    const parsed = prepared.parseArgs(received)

    expect(parsed).toEqual({ city: 'Bern', days: 3, tags: ['a'] })
    expect(received).toEqual({ city: 'Bern', tags: ['a'] })
  })

  it('refuses bad arguments and names every place', () => {
    verifies('opencall:020', 'opencall:109')
    const fault = faultOf(() => prepared.parseArgs({ days: 9, tags: ['a', 5] }))

    expect(fault).toMatchObject({ kind: 'invalid-input', code: 'VALIDATION_ERROR' })
    expect(pathsOf(fault).sort()).toEqual(['/city', '/days', '/tags/1'])
    expect(fault.message).toContain('v1:weather.sum')
    expect(fault.message).toContain('/city')
  })

  it('gives a good result on and blames the operation for a bad one', () => {
    expect(prepared.parseResult({ sum: 3 })).toEqual({ sum: 3 })

    const fault = faultOf(() => prepared.parseResult({ sum: '3' }))

    expect(fault).toMatchObject({ kind: 'internal', code: 'INVALID_RESULT' })
    expect(pathsOf(fault)).toEqual(['/sum'])
  })

  it('publishes the arguments and the result of callers as JSON Schema', () => {
    verifies('opencall:247', 'opencall:248')
    const { args, result } = prepared.schemas

    expect(args).toMatchObject({ type: 'object', ...published.args })
    expect(result).toMatchObject(published.result)
    expect(args.$schema).toBe(dialect)
    expect(prepared.schemas.args).toBe(args)
  })

  it('does not repeat a text that was sent in what it says about it', () => {
    const fault = faultOf(() => prepared.parseArgs({ city: 'Bern', days: 'hunter2-secret' }))

    expect(JSON.stringify(fault.toRecord())).not.toContain('hunter2')
  })
})

const trimmed = { zod: z.string().trim(), valibot: v.pipe(v.string(), v.trim()), arktype: type('string.trim') }

it.each(Object.entries(trimmed))('%s hands its transformed value to the handler', (_library, args) => {
  const prepared = prepareSchemas(operation('v1:trim', { args, run: idle }))

  expect(prepared.parseArgs('  x ')).toBe('x')
  expect(prepared.schemas.args).toMatchObject({ type: 'string' })
})

const knownCity = async (city: string) => city === 'Bern'
const later = {
  zod: z.object({ city: z.string().refine(knownCity, 'is not known') }),
  valibot: v.objectAsync({ city: v.pipeAsync(v.string(), v.checkAsync(knownCity, 'is not known')) }),
}

it.each(Object.entries(later))('%s may check by asking elsewhere', async (_library, args) => {
  const prepared = prepareSchemas(operation('v1:city', { args, run: idle }))

  await expect(prepared.parseArgs({ city: 'Bern' })).resolves.toEqual({ city: 'Bern' })
  await expect(prepared.parseArgs({ city: 'Atlantis' })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { issues: [{ path: '/city', message: 'is not known' }] },
  })
  expect(prepared.schemas.args).toMatchObject({ required: ['city'] })
})

it('a library may describe only how values enter and leave: each side publishes its own', () => {
  const lengthOf = z.codec(z.string(), z.number(), { decode: (text) => text.length, encode: String })

  const prepared = prepareSchemas(operation('v1:length', { args: lengthOf, result: lengthOf, run: idle }))

  expect(prepared.schemas).toMatchObject({ args: { type: 'string' }, result: { type: 'number' } })
})

it('nothing returned is null, and published as such', () => {
  const none = prepareSchemas(operation('v1:none', { run: idle }))
  const zod = prepareSchemas(operation('v1:none', { result: z.void(), run: idle }))
  const valibot = prepareSchemas(operation('v1:none', { result: v.void(), run: idle }))
  const plain = prepareSchemas(operation('v1:none', { result: { type: 'null' }, run: idle }))

  for (const { parseResult } of [none, zod, valibot, plain]) expect(parseResult(undefined)).toBeNull()
  for (const { schemas } of [zod, valibot, plain]) expect(schemas.result).toEqual({ type: 'null' })
})

describe('a library that exports no JSON Schema', () => {
  const homemade = {
    '~standard': { version: 1 as const, vendor: 'homemade', validate: (value: unknown) => ({ value }) },
  }

  it('fails at start and says what to give', () => {
    const fault = faultOf(() => prepareSchemas(operation('v1:own', { args: homemade, run: idle })))

    expect(fault).toMatchObject({ kind: 'malformed', code: 'JSON_SCHEMA_REQUIRED' })
    expect(fault.message).toContain('v1:own')
    expect(fault.message).toContain('jsonSchema: { args:')
  })

  it('is published as the developer says', () => {
    const definition = operation('v1:own', { args: homemade, jsonSchema: { args: { type: 'object' } }, run: idle })

    expect(prepareSchemas(definition).schemas.args).toEqual({ type: 'object' })
  })

  it('is told apart from one schema that has no equivalent, which fails when it is published', () => {
    const prepared = prepareSchemas(operation('v1:when', { args: z.object({ at: z.date() }), run: idle }))

    const fault = faultOf(() => prepared.schemas.args)

    expect(fault.message).toContain('v1:when')
    expect(fault.message).toContain('Date cannot be represented')
  })
})

it('a schema that throws is the server’s fault, and its text stays in the log', async () => {
  const leak = () => {
    throw new Error('postgres://user:password@host')
  }
  const atOnce = prepareSchemas(operation('v1:broken', { args: v.pipe(v.string(), v.check(leak)), run: idle }))
  const later = prepareSchemas(operation('v1:broken', { args: z.string().refine(leak), run: idle }))

  const fault = faultOf(() => atOnce.parseArgs('x'))

  expect(fault.kind).toBe('internal')
  expect(JSON.stringify(fault.toRecord())).not.toContain('password')
  await expect(later.parseArgs('x')).rejects.toMatchObject({ kind: 'internal', message: fault.message })
})
