/** Types flow from the schemas into `run`, whichever library they come from. The compiler proves it; running adds nothing. */

import { type } from 'arktype'
import {
  createServer,
  type HandlerContext,
  jsonSchema,
  type OperationDefinition,
  operation,
  operationsWith,
} from 'callplane'
import { runOperation } from 'callplane/testing'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

interface Item {
  id: string
  count: number
}

test('zod: run receives the output of the arguments and returns what the result takes', () => {
  operation('v1:zod', {
    args: z.object({ id: z.string(), count: z.int().default(1), on: z.iso.date().transform((text) => new Date(text)) }),
    result: z.object({ id: z.string(), count: z.number() }),
    run: (args, ctx) => {
      expectTypeOf(args).toEqualTypeOf<{ id: string; count: number; on: Date }>()
      expectTypeOf(ctx).toExtend<HandlerContext>()
      return { id: args.id, count: args.count }
    },
  })
})

test('valibot: the same', () => {
  operation('v1:valibot', {
    args: v.object({ id: v.string(), count: v.optional(v.number(), 1) }),
    result: v.object({ id: v.string(), count: v.number() }),
    async run(args) {
      expectTypeOf(args).toEqualTypeOf<Item>()
      return args
    },
  })
})

test('arktype: the same', () => {
  operation('v1:arktype', {
    args: type({ id: 'string', count: 'number = 1' }),
    result: type({ id: 'string', count: 'number' }),
    run: (args) => {
      expectTypeOf(args).toEqualTypeOf<Item>()
      return args
    },
  })
})

test('JSON Schema with the type it describes: the same', () => {
  operation('v1:plain', {
    args: jsonSchema<Item>({ type: 'object' }),
    result: jsonSchema<{ ok: boolean }>({ type: 'object' }),
    run: (args) => {
      expectTypeOf(args).toEqualTypeOf<Item>()
      return { ok: true }
    },
  })
})

test('what is returned must be what the result schema takes', () => {
  const Result = z.object({ total: z.number() })
  // @ts-expect-error: a field of another type
  operation('v1:wrong', { result: Result, run: () => ({ total: 'three' }) })
  // @ts-expect-error: a field is missing
  operation('v1:wrong', { result: Result, run: async () => ({}) })
  // @ts-expect-error: nothing is returned
  operation('v1:wrong', { result: Result, run: () => {} })
  // @ts-expect-error: text is a list of characters, but only a chunked operation returns pieces
  operation('v1:wrong', { result: z.number(), run: () => 'three' })
  // @ts-expect-error: pieces without chunked
  operation('v1:wrong', { result: z.number(), run: () => ['three'] })
  // @ts-expect-error: as with every library
  operation('v1:wrong', { result: v.number(), run: () => true })
  // @ts-expect-error: as with every library
  operation('v1:wrong', { result: type('number'), run: () => true })
  // @ts-expect-error: as with plain JSON Schema
  operation('v1:wrong', { result: jsonSchema<number>({ type: 'number' }), run: () => true })
  // @ts-expect-error: a chunked operation returns pieces, not a value
  operation('v1:wrong', { chunked: { mimeType: 'text/csv' }, run: () => 3 })
  // @ts-expect-error: pieces alone do not say of which type they are
  operation('v1:wrong', { chunked: true, run: () => ['a'] })
  operation('v1:wrong', {
    chunked: { mimeType: 'text/csv' },
    result: Result,
    // @ts-expect-error: the value beside the pieces is not the declared one
    async *run() {
      yield 'a'
      return { total: 'three' }
    },
  })
  // @ts-expect-error: the value beside the pieces is not the declared one
  operation('v1:wrong', { chunked: true, result: Result, run: (_args, ctx) => ctx.chunks(['a'], { value: 3 }) })
})

test('a result may also be somewhere else, or fail', () => {
  operation('v1:located', {
    result: z.object({ total: z.number() }),
    run: (_args, ctx) => (ctx.attempt > 1 ? ctx.location('https://files.example/') : ctx.fail('NO', 'No.')),
  })
  operation('v1:chunked', {
    args: z.object({ rows: z.int() }),
    chunked: { mimeType: 'text/csv' },
    async *run({ rows }) {
      expectTypeOf(rows).toEqualTypeOf<number>()
      yield 'a\n'
      yield Uint8Array.of(98)
    },
  })
  operation('v1:pieces', { chunked: { mimeType: 'text/csv' }, run: () => ['a', 'b'] })
  operation('v1:later', { chunked: { mimeType: 'text/csv' }, run: async () => ['a', 'b'] })
  const Rows = z.object({ rows: z.int() })
  operation('v1:summed', {
    chunked: { mimeType: 'text/csv' },
    result: Rows,
    async *run() {
      yield 'a\n'
      return { rows: 1 }
    },
  })
  operation('v1:chosen', {
    chunked: true,
    result: Rows,
    run: (_args, ctx) => ctx.chunks(new Blob(['a']).stream(), { mimeType: 'text/csv', value: () => ({ rows: 1 }) }),
  })
  async function* silent() {
    yield 'a'
  }
  operation('v1:silent', { chunked: true, result: Rows, run: async (_args, ctx) => ctx.chunks(silent()) })
})

test('without a result schema run may return anything or nothing', () => {
  operation('v1:nothing', { run: () => {} })
  operation('v1:anything', { run: () => ({ text: 'three' }) })
})

test('misspelled rules are refused', () => {
  // @ts-expect-error: it is sideEffecting
  operation('v1:typo', { sideEffect: true, run: () => null })
})

test('what the application injects is typed, and a server of such operations needs it', () => {
  interface App {
    db: { count(): Promise<number> }
  }
  const define = operationsWith<App>()
  const count = define('v1:count', {
    args: z.object({ table: z.string() }),
    result: z.number(),
    run: ({ table }, ctx) => {
      expectTypeOf(table).toEqualTypeOf<string>()
      expectTypeOf(ctx.db.count).returns.resolves.toEqualTypeOf<number>()
      expectTypeOf(ctx.attempt).toEqualTypeOf<number>()
      return ctx.db.count()
    },
  })
  const plain = operation('v1:plain', { run: () => null })

  expectTypeOf(count).toEqualTypeOf<OperationDefinition<App>>()
  const serve = async () => {
    await createServer({ operations: [count, plain], context: { db: { count: async () => 1 } } })
    await createServer({
      operations: [count],
      context: ({ caller }) => ({ db: { count: async () => caller.scopes.length } }),
    })
    await createServer({ operations: [plain] })
    // @ts-expect-error: nobody gives it a db
    await createServer({ operations: [count] })
    // @ts-expect-error: this is no db
    await createServer({ operations: [count], context: { db: 7 } })
    await runOperation(count, {}, { context: { db: { count: async () => 1 } } })
    // @ts-expect-error: nobody gives it a db
    await runOperation(count, {})
  }
  expectTypeOf(serve).toBeFunction()
})
