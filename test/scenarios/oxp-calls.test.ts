/** Tools called over OXP and OTC: which version runs, the format of its outcome, and the result of a repeat. */
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { verifies } from '../requirements.ts'
import { oxpClient } from './oxp.ts'
import { createGate, createStepClock, startSite } from './server.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('versions', () => {
  const version = (name: string, own: string) => operation(name, { version: own, run: () => own })

  test('a full version is exact, a whole number is its x.0.0, and no version is the numerically latest', async () => {
    verifies('oxp:18', 'oxp:19', 'oxp:20', 'oxp:21', 'oxp:22')
    const { url } = await startSite({
      operations: [
        version('v1:tool.run', '1.10.0'),
        version('v1:tool.run', '1.0.0'),
        version('v1:tool.run', '1.9.0'),
        version('v1:tool.run', '1.2.0'),
        version('v1:tool.run', '1.2.1'),
        version('v2:tool.run', '0.9.0'),
        version('v1:later.run', '3.1.0'),
      ],
    })
    const client = oxpClient(url)
    const run = async (tool: string) => {
      const { status, body } = await client.call(tool)
      return status === 200 ? body.value : status
    }

    expect(await run('tool.run@1.2.0')).toBe('1.2.0')
    expect(await run('tool.run@1.2.1')).toBe('1.2.1')
    expect(await run('tool.run@1')).toBe('1.0.0')
    expect(await run('tool.run')).toBe('1.10.0')
    expect(await run('tool.run@0.9.0')).toBe('0.9.0')
    expect(await run('tool.run@1.2.2')).toBe(400)
    expect(await run('tool.run@2')).toBe(400)
    expect(await run('later.run@3')).toBe(400)
    expect(await run('later.run')).toBe('3.1.0')
  })

  test('a call without a version is the same call when a newer version has come, and the latest that is left is run', async () => {
    const clock = createStepClock(Date.UTC(2026, 5, 1))
    const old = operation('v1:tool.run', { run: () => 'old' })
    const fading = operation('v1:tool.run', {
      version: '1.1.0',
      deprecated: { sunset: '2026-06-01' },
      run: () => 'new',
    })
    const before = await startSite({ operations: [old], clock })
    const first = await oxpClient(before.url).call('tool.run', {}, { call_id: 'one' })
    await oxpClient(before.url).call('tool.run@1', {}, { call_id: 'two' })
    await clock.passing(before.close())
    const after = await startSite({ operations: [old, fading], clock, data: before.data })
    const client = oxpClient(after.url)

    const same = await client.call('tool.run', {}, { call_id: 'one' })
    const exact = await client.call('tool.run@1.0.0', {}, { call_id: 'two' })
    const other = await client.call('tool.run')
    clock.advance(86_400_000)
    const left = await client.call('tool.run')

    expect([first, same, exact, other, left].map(({ body }) => body.value)).toEqual(['old', 'old', 'old', 'new', 'old'])
  })

  test('the quickstart has three versions of one tool', async () => {
    verifies('oxp:18', 'oxp:21', 'oxp:22')
    const { url } = await startSite({ operations: Object.values(quickstart) })
    const client = oxpClient(url)
    const shout = async (tool: string) => (await client.call(tool, { text: 'hey' })).body.value

    expect(await shout('Text.Shout@1')).toBe('HEY')
    expect(await shout('Text.Shout@1.0.0')).toBe('HEY')
    expect(await shout('Text.Shout@1.2.0')).toBe('HEY!')
    expect(await shout('Text.Shout@2')).toEqual({ text: 'HEY', decibels: 63 })
    expect(await shout('Text.Shout')).toEqual({ text: 'HEY', decibels: 63 })
  })
})

describe('outcomes', () => {
  test('any JSON is a value, and no output is null', async () => {
    verifies('oxp:02', 'oxp:11')
    const values = [0, '', 'text', false, null, [], [1, null], { a: { b: 1 } }]
    const echo = operation('v1:test.echo', { run: ({ at }) => values[Number(at)] })
    const nothing = operation('v1:test.nothing', { result: z.void(), run: () => undefined })
    const { url } = await startSite({ operations: [echo, nothing] })
    const client = oxpClient(url)

    for (const [at, value] of values.entries()) {
      const { status, body } = await client.call('test.echo', { at })
      expect([status, body.success, body.value]).toEqual([200, true, value])
      expect(body.call_id).toMatch(UUID)
      expect(Number.isInteger(body.duration) && body.duration >= 0).toBe(true)
    }
    expect((await client.call('test.nothing')).body).toMatchObject({ success: true, value: null })
  })

  test('every failure of a running tool is 200 with success false, an error and no value', async () => {
    verifies('oxp:12', 'oxp:23', 'oxp:31', 'oxp:42')
    const throwing = operation('v1:test.throw', {
      run: () => {
        throw new Error('connect postgres://admin:hunter2hunter2@db/main failed')
      },
    })
    const lying = operation('v1:test.lie', { result: z.number(), run: () => 'seven' as unknown as number })
    const slow = operation('v1:test.slow', {
      timeoutMs: 5,
      run: (_args, ctx) => new Promise<null>((_resolve, reject) => ctx.signal.addEventListener('abort', reject)),
    })
    const failing = operation('v1:test.fail', { run: (_args, ctx) => ctx.fail('NOT_TODAY', 'Not today.') })
    const { url } = await startSite({ operations: [throwing, lying, slow, failing] })
    const client = oxpClient(url)

    const answers = await Promise.all(
      ['test.throw', 'test.lie', 'test.slow', 'test.fail'].map((tool) => client.call(tool)),
    )

    for (const { status, body } of answers) {
      expect([status, body.success, 'value' in body]).toEqual([200, false, false])
      expect(body.error.message).not.toMatch(/hunter2|postgres|\bat \S+:\d+|node_modules/)
    }
    expect(answers.map(({ body }) => body.error)).toEqual([
      { message: expect.stringContaining('failed'), can_retry: false },
      { message: expect.stringContaining('returned a result that does not match its schema'), can_retry: false },
      { message: 'The operation did not finish within 5 ms.', can_retry: true },
      { message: 'Not today.', can_retry: false },
    ])
  })

  test('a result that is bytes is the address they are at', async () => {
    const elsewhere = operation('v1:test.elsewhere', {
      run: (_args, ctx) =>
        ctx.location('https://files.example/x', { auth: { credentialType: 'bearer', credential: 'for-this-file' } }),
    })
    const { url } = await startSite({ operations: [...Object.values(quickstart), elsewhere] })
    const client = oxpClient(url)

    const picture = (await client.call('Pictures.Draw', { radius: 1 })).body.value
    const export_ = (await client.call('Orders.Export', { rows: 2 }, { call_id: 'export 1/2' })).body.value
    const other = (await client.call('test.elsewhere')).body.value

    expect(picture).toEqual({ uri: expect.stringMatching(`^${url}/objects/`), mimeType: 'image/svg+xml' })
    expect(await (await fetch(picture.uri)).text()).toContain('<circle')
    expect(export_).toEqual({ uri: `${url}/ops/export%201%2F2/chunks`, mimeType: 'text/csv' })
    expect(await (await fetch(export_.uri)).json()).toMatchObject({ data: expect.stringContaining('order,item,price') })
    expect(other).toEqual({
      uri: 'https://files.example/x',
      auth: { credentialType: 'bearer', credential: 'for-this-file' },
    })
  })

  test('a traceparent in trace_id is passed on; any other trace_id is ignored', async () => {
    const traced = operation('v1:test.trace', { run: (_args, ctx) => ctx.traceparent ?? 'none' })
    const { url } = await startSite({ operations: [traced] })
    const client = oxpClient(url)
    const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

    const own = await client.call('test.trace', {}, { trace_id: parent })
    const header = await client.call('test.trace', {}, { trace_id: 'mine' }, { traceparent: parent })
    const none = await client.call('test.trace', {}, { trace_id: 'mine' })

    for (const { body } of [own, header]) expect(body.value).toContain('4bf92f3577b34da6a3ce929d0e0e4736')
    expect(none.body.value).not.toContain('mine')
  })
})

describe('call_id', () => {
  const counting = (rules: object = {}) => {
    let runs = 0
    return operation('v1:test.count', { ...rules, run: () => ++runs })
  }

  test('the same id and call give the first outcome again, also where nothing was changed', async () => {
    const { url } = await startSite({ operations: [counting()] })
    const client = oxpClient(url)
    const call = { tool_id: 'test.count', call_id: 'one', input: { a: 1 } }

    const first = await client.send(call)
    const again = await client.send(call)
    const otc = await client.send({ request: call })
    const together = await Promise.all([1, 2, 3].map(() => client.send({ ...call, call_id: 'two' })))

    expect([first, again, otc].map(({ body }) => [body.call_id, body.value])).toEqual([
      ['one', 1],
      ['one', 1],
      ['one', 1],
    ])
    expect(together.map(({ body }) => body.value)).toEqual([2, 2, 2])
  })

  test('the same id for another input, another tool or another version is 400', async () => {
    const { url } = await startSite({ operations: [counting(), ...Object.values(quickstart)] })
    const client = oxpClient(url)
    await client.call('test.count', { a: 1 }, { call_id: 'one' })

    const input = await client.call('test.count', { a: 2 }, { call_id: 'one' })
    const tool = await client.call('Calculator.Add', { a: 1, b: 2 }, { call_id: 'one' })
    await client.call('Text.Shout@1.0.0', { text: 'a' }, { call_id: 'two' })
    const version = await client.call('Text.Shout@1.2.0', { text: 'a' }, { call_id: 'two' })
    const user = await client.call('test.count', { a: 1 }, { call_id: 'one', context: { user_id: 'another' } })

    for (const { status, body } of [input, tool, version, user]) {
      expect([status, body.message]).toEqual([
        400,
        'This call_id was used for another call. Use a new one for each call.',
      ])
    }
  })

  test('without one each call is its own, and gets an id; a tool that wants a key is given that', async () => {
    const { url } = await startSite({ operations: [counting({ sideEffecting: true })] })
    const client = oxpClient(url)

    const first = await client.call('test.count')
    const second = await client.call('test.count')
    const repeated = await client.call('test.count', {}, { call_id: first.body.call_id })

    expect([first, second, repeated].map(({ body }) => body.value)).toEqual([1, 2, 1])
    expect(first.body.call_id).toMatch(UUID)
    expect(second.body.call_id).not.toBe(first.body.call_id)
  })

  test('a failure is kept as well: a retry needs a new id', async () => {
    let runs = 0
    const flaky = operation('v1:test.flaky', {
      run: (_args, ctx) => (++runs === 1 ? ctx.fail('LATER', 'Later.', { retryable: true }) : 'done'),
    })
    const { url } = await startSite({ operations: [flaky] })
    const client = oxpClient(url)

    const first = await client.call('test.flaky', {}, { call_id: 'one' })
    const same = await client.call('test.flaky', {}, { call_id: 'one' })
    const fresh = await client.call('test.flaky', {}, { call_id: 'two' })

    expect([first, same].map(({ body }) => body.error?.can_retry)).toEqual([true, true])
    expect(fresh.body.value).toBe('done')
  })
})

describe('calls that take long', () => {
  test('the server waits for an async tool; after 30 s the client is told to repeat the same call_id', async () => {
    const clock = createStepClock()
    const gate = createGate<string>()
    let runs = 0
    const build = operation('v1:jobs.build', {
      model: 'async',
      run: () => {
        runs++
        return gate.pass()
      },
    })
    const { url } = await startSite({ operations: [build], clock })
    const client = oxpClient(url)

    const asking = client.call('jobs.build', {}, { call_id: 'build-1' })
    await gate.began
    await clock.timer(30_000)
    clock.advance(30_000)
    const late = await asking
    const joining = client.call('jobs.build', {}, { call_id: 'build-1' })
    await clock.timer(30_000)
    gate.open('built')
    const joined = await joining

    expect(late).toMatchObject({ status: 200, body: { call_id: 'build-1', success: false } })
    expect(late.body.error).toEqual({
      message: expect.stringContaining('still running'),
      developer_message: expect.stringContaining('"call_id": "build-1"'),
      can_retry: true,
      retry_after_ms: 250,
      still_running: true,
    })
    expect(joined.body).toMatchObject({ call_id: 'build-1', success: true, value: 'built' })
    expect(runs).toBe(1)
  })

  test('a sync tool is waited for beyond its own limit, too, and joined by the id that the server chose', async () => {
    const clock = createStepClock()
    const gate = createGate<string>()
    const think = operation('v1:test.think', { maxSyncMs: 1_000, run: () => gate.pass() })
    const { url } = await startSite({ operations: [think], clock })
    const client = oxpClient(url)

    const asking = client.call('test.think')
    await gate.began
    await clock.timer(25)
    clock.advance(25)
    await clock.timer(975)
    clock.advance(975)
    await clock.timer(29_000)
    clock.advance(29_000)
    const late = await asking
    const joining = client.call('test.think', {}, { call_id: late.body.call_id })
    gate.open('so it is')
    const joined = await joining

    expect(late.body).toMatchObject({ success: false, duration: 30_000, error: { can_retry: true } })
    expect(joined.body).toMatchObject({ call_id: late.body.call_id, success: true, value: 'so it is' })
  })

  test('a tool with effects that got no call_id must not be sent again blindly', async () => {
    const clock = createStepClock()
    const gate = createGate<string>()
    const pay = operation('v1:bank.pay', { model: 'async', sideEffecting: true, run: () => gate.pass() })
    const { url } = await startSite({ operations: [pay], clock })

    const asking = oxpClient(url).call('bank.pay')
    await gate.began
    await clock.timer(30_000)
    clock.advance(30_000)
    const { body } = await asking
    gate.open('paid')

    expect(body).toMatchObject({ success: false, error: { can_retry: false } })
    expect(body.error.developer_message).toContain(body.call_id)
  })
})
