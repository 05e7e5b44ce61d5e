/** Types flow from the schemas of every library into `run`. The compiler proves it; running adds nothing. */

import { type } from 'arktype'
import {
  createServer,
  type HandlerContext,
  jsonSchema,
  type MediaFile,
  type MediaSlot,
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

test('the return value must match the result schema', () => {
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

test('an operation keeps the types that its callers send and receive, as plain types', () => {
  const book = operation('v1:book', {
    args: z.object({ on: z.iso.date().transform((text) => new Date(text)), seats: z.int().default(1) }),
    result: z.object({ id: z.string() }),
    run: () => ({ id: 'b1' }),
  })
  expectTypeOf(book).toEqualTypeOf<
    OperationDefinition<
      unknown,
      { name: 'v1:book'; args: { on: string; seats?: number | undefined }; result: { id: string } }
    >
  >()
  const valibot = operation('v1:valibot', {
    args: v.object({ seats: v.optional(v.number(), 1) }),
    result: v.string(),
    run: () => 'b1',
  })
  expectTypeOf(valibot).toEqualTypeOf<
    OperationDefinition<unknown, { name: 'v1:valibot'; args: { seats?: number | undefined }; result: string }>
  >()
  const arktype = operation('v1:arktype', { args: type({ seats: 'number' }), result: type('string'), run: () => 'b1' })
  expectTypeOf(arktype).toEqualTypeOf<
    OperationDefinition<unknown, { name: 'v1:arktype'; args: { seats: number }; result: string }>
  >()
  const plain = operation('v1:plain', { args: jsonSchema<Item>({}), result: jsonSchema<number>({}), run: () => 1 })
  expectTypeOf(plain).toEqualTypeOf<OperationDefinition<unknown, { name: 'v1:plain'; args: Item; result: number }>>()
  const bare = operation('v1:bare', { run: () => 1 })
  expectTypeOf(bare).toEqualTypeOf<OperationDefinition<unknown, { name: 'v1:bare'; args: unknown; result: unknown }>>()
  const remote = operation('v1:remote', {
    args: jsonSchema<Item>({}),
    result: jsonSchema<number>({}),
    backend: { kind: 'http', endpoint: 'https://tool.example' },
  })
  expectTypeOf(remote).toEqualTypeOf<OperationDefinition<unknown, { name: 'v1:remote'; args: Item; result: number }>>()
})

test('ctx.call takes the arguments of the operation it is given and returns its result', () => {
  const item = operation('v1:item', {
    args: z.object({ id: z.string(), count: z.int().default(1) }),
    result: z.object({ price: z.number() }),
    run: () => ({ price: 1 }),
  })
  const rows = operation('v1:rows', { chunked: { mimeType: 'text/csv' }, result: z.number(), run: () => ['a'] })
  const chosen = operation('v1:chosen', { chunked: true, run: (_args, ctx) => ctx.chunks(['a']) })
  const injected = operationsWith<{ db: object }>()('v1:injected', { result: z.string(), run: () => 'a' })
  const calling = async (ctx: HandlerContext, untyped: OperationDefinition) => {
    expectTypeOf(await ctx.call(item, { id: 'a' })).toEqualTypeOf<{ price: number }>()
    expectTypeOf(await ctx.call(item, { id: 'a' }, { locale: 'de' })).toEqualTypeOf<{ price: number }>()
    expectTypeOf(await ctx.call(injected, {})).toEqualTypeOf<string>()
    expectTypeOf(await ctx.call(rows, {})).toEqualTypeOf<{ kind: 'chunks'; mimeType: string; value?: number }>()
    expectTypeOf(await ctx.call(chosen, {})).toEqualTypeOf<{ kind: 'chunks'; mimeType: string; value?: unknown }>()
    // @ts-expect-error: an argument of another type
    await ctx.call(item, { id: 7 })
    // @ts-expect-error: an argument is missing
    await ctx.call(item, {})
    // @ts-expect-error: an argument that it does not have
    await ctx.call(item, { id: 'a', colour: 'red' })

    expectTypeOf(await ctx.call('v1:item', { id: 7 })).toEqualTypeOf<unknown>()
    expectTypeOf(await ctx.call<number>('v1:item', 7)).toEqualTypeOf<number>()
    expectTypeOf(await ctx.call(untyped, { id: 7 })).toEqualTypeOf<unknown>()
  }
  expectTypeOf(calling).toBeFunction()
})

test('an operation keeps the codes of the errors that it declares, and ctx.fail completes them', () => {
  const errors = {
    SOLD_OUT: { description: 'No seat is left.' },
    CLOSED: { description: 'Not open.', retryable: true },
  }
  const book = operation('v1:book', {
    args: z.object({ seats: z.int() }),
    result: z.string(),
    errors,
    run: ({ seats }, ctx) => {
      expectTypeOf(seats).toEqualTypeOf<number>()
      if (seats > 9) return ctx.fail('SOLD_OUT', 'Sold out.')
      return ctx.fail('NOT_DECLARED', 'A code that is not declared stays allowed.')
    },
  })
  expectTypeOf(book).toEqualTypeOf<
    OperationDefinition<
      unknown,
      { name: 'v1:book'; args: { seats: number }; result: string; media: never; errors: 'SOLD_OUT' | 'CLOSED' }
    >
  >()
  const define = operationsWith<{ db: object }>()
  const watch = define('v1:watch', { frame: z.number(), errors, run: () => [1] })
  type Types = typeof watch extends OperationDefinition<never, infer T> ? T : never
  expectTypeOf<Types['errors']>().toEqualTypeOf<'SOLD_OUT' | 'CLOSED'>()
  expectTypeOf<Types['frame']>().toEqualTypeOf<number>()
  // @ts-expect-error: an error says what it means
  operation('v1:wrong', { errors: { SOLD_OUT: {} }, run: () => null })
  // @ts-expect-error: a misspelled field
  operation('v1:wrong', { errors: { SOLD_OUT: { description: 'No seat.', retry: true } }, run: () => null })
})

test('a required attachment is defined in ctx.media; any other may be undefined', () => {
  const slot = { acceptedTypes: ['image/png'], maxBytes: 1_000 }
  operation('v1:photo', {
    media: [
      { name: 'photo', required: true, ...slot },
      { name: 'thumbnail', ...slot },
      { name: 'backside', required: false, ...slot },
    ],
    run: (_args, { media }) => {
      expectTypeOf(media.photo).toEqualTypeOf<MediaFile>()
      expectTypeOf(media.thumbnail).toEqualTypeOf<MediaFile | undefined>()
      expectTypeOf(media.backside).toEqualTypeOf<MediaFile | undefined>()
      expectTypeOf(media.other).toEqualTypeOf<MediaFile | undefined>()
    },
  })
  operationsWith<{ db: object }>()('v1:photo', {
    media: [{ name: 'photo', required: true, acceptedTypes: ['image/png'], maxBytes: 1_000 }],
    chunked: { mimeType: 'image/png' },
    async *run(_args, { media, db }) {
      expectTypeOf(db).toEqualTypeOf<object>()
      yield* media.photo.stream()
    },
  })
  const slots: MediaSlot[] = [{ name: 'photo', required: true, ...slot }]
  operation('v1:unknown', {
    media: slots,
    run: (_args, { media }) => expectTypeOf(media.photo).toEqualTypeOf<MediaFile | undefined>() && null,
  })
  // @ts-expect-error: a slot says how large its file may be
  operation('v1:wrong', { media: [{ name: 'photo', acceptedTypes: [] }], run: () => null })
})

test('misspelled rules are refused', () => {
  // @ts-expect-error: it is sideEffecting
  operation('v1:typo', { sideEffect: true, run: () => null })
})

test('injected values are typed, and a server of such operations requires them', () => {
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

  expectTypeOf(count).toEqualTypeOf<
    OperationDefinition<App, { name: 'v1:count'; args: { table: string }; result: number }>
  >()
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

test('a stream keeps the type of its frames, and its handler may yield only those', () => {
  const watch = operation('v1:watch', {
    args: z.object({ id: z.string() }),
    frame: z.object({ x: z.number() }),
    async *run({ id }, ctx) {
      expectTypeOf(id).toEqualTypeOf<string>()
      expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
      yield { x: 1 }
    },
  })
  type Types = typeof watch extends OperationDefinition<unknown, infer T> ? T : never
  expectTypeOf<Types>().toEqualTypeOf<{
    name: 'v1:watch'
    args: { id: string }
    result: { frames: number; dropped: number; ended: 'done' | 'unsubscribed' | 'expired' }
    frame: { x: number }
  }>()

  operation('v1:sync', { frame: z.object({ x: z.number() }), run: () => [{ x: 1 }, new Uint8Array()] })
  // @ts-expect-error: the frame has no text.
  operation('v1:wrong', { frame: z.object({ x: z.number() }), run: () => [{ x: 'one' }] })
  // @ts-expect-error: a stream has no result.
  operation('v1:both', { frame: z.object({ x: z.number() }), result: z.string(), run: () => [{ x: 1 }] })
})
