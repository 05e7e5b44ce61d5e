/** Unit tests of one operation: what a developer can test without a server. */
import { jsonSchema, operation, operationsWith } from 'callplane'
import { createManualClock, runOperation } from 'callplane/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { add, describeFile, drawPicture, exportOrders, ring, watchWaves } from '../../examples/quickstart/operations.ts'

test('an operation is called with its arguments and gives its result', async () => {
  const { result } = await runOperation(add, { a: 1, b: 2 })

  expect(result).toBe(3)
})

test('defaults are filled in, and results are what their schema makes of them', async () => {
  const greet = operation('v1:greet', {
    args: z.object({ name: z.string().default('you') }),
    result: z.object({ text: z.string() }),
    run: ({ name }) => ({ text: `Hello ${name}`, inside: 'not in the schema' }),
  })

  expect((await runOperation(greet)).result).toEqual({ text: 'Hello you' })
})

test('arguments that break the schema are refused with the path, and the handler is not run', async () => {
  let ran = false
  const strict = operation('v1:strict', { args: z.object({ count: z.int() }), run: () => (ran = true) })

  await expect(runOperation(strict, { count: 'three' })).rejects.toMatchObject({
    kind: 'invalid-input',
    details: { issues: [{ path: '/count' }] },
  })
  expect(ran).toBe(false)
})

test('a result that breaks the schema is a fault of the operation', async () => {
  const wrong = operation('v1:wrong', {
    result: jsonSchema<number>({ type: 'number' }),
    run: () => 'three' as unknown as number,
  })

  await expect(runOperation(wrong)).rejects.toMatchObject({ kind: 'internal', code: 'INVALID_RESULT' })
})

test('a business failure is thrown as its caller would see it', async () => {
  await expect(runOperation(ring, { doorbell_id: 'nowhere' })).rejects.toMatchObject({
    kind: 'domain',
    code: 'DOORBELL_NOT_FOUND',
    retryable: true,
    promptContent: 'ids: doorbell42,doorbell84',
  })
})

test('an error of the handler is named in the message, because a unit test has no server log, and is the cause', async () => {
  const broken = new Error('connection to db.example refused')
  const fails = operation('v1:fails', {
    run: () => {
      throw broken
    },
  })

  const fault = await runOperation(fails).catch((thrown: Error) => thrown)

  expect(fault).toMatchObject({ kind: 'internal', cause: broken })
  expect((fault as Error).message).toContain('Error: connection to db.example refused')
})

test('progress and log lines are collected in order', async () => {
  const steps = operation('v1:steps', {
    run(_args, ctx) {
      ctx.progress(0.5, 'half way')
      ctx.log.info({ rows: 3 }, 'read')
      ctx.progress(7)
    },
  })

  const { progress, log, result } = await runOperation(steps, {}, { attempt: 2, requestId: 'r1' })

  expect(result).toBe(null)
  expect(progress).toEqual([{ fraction: 0.5, message: 'half way' }, { fraction: 1 }])
  expect(log).toEqual([
    {
      level: 'info',
      fields: { operation: 'v1:steps@1.0.0', requestId: 'r1', attempt: 2, rows: 3 },
      message: 'read',
    },
  ])
})

test('the context is the one the test describes', async () => {
  const look = operation('v1:look', {
    run: (_args, { caller, requestId, sessionId, parentId, locale, traceparent, attempt, key }) => ({
      subject: caller.subject,
      scopes: [...caller.scopes],
      seen: [requestId, sessionId, parentId, locale, traceparent, attempt, key],
    }),
  })
  const ids = {
    requestId: 'r1',
    sessionId: 's1',
    parentId: 'p1',
    locale: 'de',
    traceparent: 't1',
    attempt: 3,
    key: 'k1',
  }

  const { result } = await runOperation(look, {}, { caller: { subject: 'ada' }, ...ids })

  expect(result).toEqual({ subject: 'ada', scopes: ['*'], seen: Object.values(ids) })
})

test('the test passes the injected values, and must do so if the operation expects them', async () => {
  const count = operationsWith<{ db: { count(): number } }>()('v1:count', { run: (_args, { db }) => db.count() })

  const { result } = await runOperation(count, {}, { context: { db: { count: () => 7 } } })

  expect(result).toBe(7)
  // @ts-expect-error: its context is missing
  await expect(runOperation(count, {})).rejects.toMatchObject({ kind: 'internal' })
})

test('attachments are given as text or bytes and checked like any other', async () => {
  const described = await runOperation(describeFile, {}, { media: { file: 'hello' } })
  const picture = { content: Uint8Array.of(1, 2, 3), mimeType: 'image/png' }

  expect(described.result).toMatchObject({ mimeType: 'text/plain', bytes: 5 })
  expect((await runOperation(describeFile, {}, { media: { file: picture } })).result).toMatchObject({ bytes: 3 })
  await expect(runOperation(describeFile)).rejects.toMatchObject({ code: 'MEDIA_REQUIRED' })
  await expect(runOperation(describeFile, {}, { media: { other: '' } })).rejects.toMatchObject({
    code: 'UNKNOWN_MEDIA',
  })
  const film = { file: { content: '', mimeType: 'video/mp4' } }
  await expect(runOperation(describeFile, {}, { media: film })).rejects.toMatchObject({
    code: 'UNSUPPORTED_MEDIA_TYPE',
  })
})

test('bytes that the handler makes are returned as bytes', async () => {
  const drawn = await runOperation(drawPicture, { radius: 2 })
  const exported = await runOperation(exportOrders, { rows: 100 })

  expect(drawn).toMatchObject({ object: { mimeType: 'image/svg+xml', filename: 'circle.svg' } })
  expect(drawn.object?.text()).toContain('r="2"')
  expect(exported.chunks?.mimeType).toBe('text/csv')
  expect(exported.chunks?.text().trimEnd().split('\n')).toHaveLength(101)
})

test('a result at another address is returned as that address', async () => {
  const elsewhere = operation('v1:elsewhere', {
    run: (_args, ctx) => ctx.location('https://files.example/a', { redirect: true }),
  })

  expect((await runOperation(elsewhere)).location).toEqual({ uri: 'https://files.example/a', redirect: true })
})

test('child calls reach the operations and stand-ins the test gives, under the same caller', async () => {
  const whoAmI = operation('v1:who', { run: (_args, { caller, parentId }) => [caller.subject, parentId ?? ''] })
  const parent = operation('v1:parent', {
    run: async (_args, ctx) => [await ctx.call(whoAmI, {}), await ctx.call('v1:prices.get', { item: 'tea' })],
  })
  const asked: unknown[] = []
  const price = (args: unknown) => {
    asked.push(args)
    return 4
  }

  const options = { caller: { subject: 'ada' }, requestId: 'r1' }
  const { result } = await runOperation(
    parent,
    {},
    { ...options, children: { 'v1:who': whoAmI, 'v1:prices.get': price } },
  )

  expect(result).toEqual([['ada', 'r1'], 4])
  expect(asked).toEqual([{ item: 'tea' }])
  await expect(runOperation(parent, {}, { children: [whoAmI] })).rejects.toThrow(/children: \{ 'v1:prices.get'/)
})

test('operations that call each other without end are stopped, as in a server', async () => {
  const endless = operation('v1:endless', { run: (_args, ctx) => ctx.call('v1:endless', {}) })

  await expect(runOperation(endless, {}, { children: [endless] })).rejects.toMatchObject({ code: 'CALL_TOO_DEEP' })
})

test('the time limit holds even for a handler that ignores its signal', async () => {
  const clock = createManualClock()
  const deaf = operation('v1:deaf', { timeoutMs: 50, run: () => new Promise<never>(() => {}) })

  const running = runOperation(deaf, {}, { clock })
  // Arguments are parsed and attachments stored before the handler, and its time, begin.
  await new Promise(setImmediate)
  clock.advance(50 + 1_000)

  await expect(running).rejects.toMatchObject({ kind: 'timeout', details: { timeoutMs: 50 } })
})

test('no timer is left behind', async () => {
  const manual = createManualClock()
  const open = new Set<object>()
  const schedule: typeof manual.schedule = (delayMs, run) => {
    const timer = { cancel: manual.schedule(delayMs, run) }
    open.add(timer)
    return () => {
      open.delete(timer)
      timer.cancel()
    }
  }
  let timers = 0
  const timed = operation('v1:timed', {
    timeoutMs: 60_000,
    async run() {
      await Promise.resolve()
      timers = open.size
    },
  })

  await runOperation(timed, {}, { clock: { ...manual, schedule } })

  expect([timers, open.size]).toEqual([1, 0])
})

test('the test can cancel, before the start or while the handler works', async () => {
  const canceling = new AbortController()
  let runs = 0
  const waits = operation('v1:waits', {
    run: (_args, { signal }) =>
      new Promise<never>((_resolve, reject) => {
        runs++
        signal.addEventListener('abort', () => reject(new Error('stopped')))
        canceling.abort()
      }),
  })

  await expect(runOperation(waits, {}, { signal: canceling.signal })).rejects.toMatchObject({ kind: 'canceled' })
  await expect(runOperation(waits, {}, { signal: canceling.signal })).rejects.toMatchObject({ kind: 'canceled' })
  expect(runs).toBe(1)
})

test('a handler finds the tokens, the secrets and the user that the test gives', async () => {
  const act = operation('v1:act', {
    requires: { authorization: [{ id: 'hub' }], secrets: ['pin'], userId: true },
    run: async (_args, ctx) => [await ctx.authorization('hub'), ctx.secret('pin'), ctx.userId ?? null],
  })

  const { result } = await runOperation(
    act,
    {},
    { tokens: { hub: 't' }, secrets: { pin: 's' }, caller: { userId: 'u' } },
  )

  expect(result).toEqual(['t', 's', 'u'])
  await expect(runOperation(act)).rejects.toMatchObject({ kind: 'requirements-missing' })
})

test('a secret is kept out of everything as in a server, and a child call is not sent one', async () => {
  const child = operation('v1:t.child', { run: (args) => args })
  const reveal = operation('v1:t.reveal', {
    requires: { secrets: ['key'] },
    chunked: { mimeType: 'text/plain' },
    async *run(args: { send?: boolean }, ctx) {
      const key = ctx.secret('key')
      if (args.send) await ctx.call(child, { key })
      yield `the key is ${key.slice(0, 5)}`
      yield key.slice(5)
      return { key }
    },
  })
  const secrets = { key: 'correct-horse-battery' }

  const { chunks } = await runOperation(reveal, {}, { secrets })
  const sending = runOperation(reveal, { send: true }, { secrets, children: [child] })

  expect(chunks?.text()).toBe('the key is [redacted]')
  expect(chunks?.value).toEqual({ key: '[redacted]' })
  await expect(sending).rejects.toMatchObject({ code: 'SECRET_IN_CALL' })
})

test('a stream gives its frames, after validation, and its summary', async () => {
  const count = operation('v1:count', {
    args: z.object({ to: z.int().default(3) }),
    frame: z.object({ n: z.int() }),
    *run({ to }) {
      for (let n = 1; n <= to; n++) yield { n, inside: 'not in the schema' }
    },
  })

  const whole = await runOperation(count)
  const some = await runOperation(count, { to: 1_000_000 }, { frames: 2 })

  expect(whole.frames).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  expect(whole.result).toEqual({ frames: 3, dropped: 0, ended: 'done' })
  expect(some.frames).toEqual([{ n: 1 }, { n: 2 }])
  expect(some.result).toMatchObject({ frames: 2, ended: 'unsubscribed' })
})

test('a stream that breaks its schema rejects with the fault of its frame', async () => {
  const wrong = operation('v1:wrong', {
    frame: z.object({ n: z.int() }),
    *run() {
      yield { n: 0.5 }
    },
  })

  await expect(runOperation(wrong)).rejects.toMatchObject({ code: 'INVALID_FRAME' })
})

test('the wave of the quickstart has one line per frame', async () => {
  const { frames } = await runOperation(watchWaves, { perSecond: 50 }, { frames: 2 })

  expect(frames).toEqual([
    { n: 1, wave: expect.stringMatching(/^ +●$/) },
    { n: 2, wave: expect.stringMatching(/^ +●$/) },
  ])
})
