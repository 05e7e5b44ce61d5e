/** Retries: how often, when, under which call id, and what a model is told. */
import { operation } from 'callplane'
import { createOxpClient } from 'callplane/client/oxp'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../requirements.ts'
import { createGate, createStepClock, startSite } from '../../scenarios/server.ts'
import { fails, failureOf, startScripted, succeeds } from './scripted-server.ts'

const NOT_FOUND = {
  message: 'Doorbell ID not found',
  developer_message: "The doorbell with ID 'doorbell1' does not exist.",
  can_retry: true,
  additional_prompt_content: 'ids: doorbell42,doorbell84',
  retry_after_ms: 500,
}

describe('can_retry', () => {
  test('the client waits as long as the tool says, and tries again a limited number of times', async () => {
    verifies('oxp:43', 'oxp:44')
    const { url, received } = await startScripted(fails(NOT_FOUND))
    const clock = createStepClock()
    const oxp = createOxpClient({ url, clock, retries: 2 })

    const failing = failureOf(oxp.call('Doorbell.Ring@0.1.0', { doorbell_id: 'doorbell1' }))
    await clock.timer(500)
    clock.advance(499)
    expect(received).toHaveLength(1)
    clock.advance(1)
    await clock.timer(500)
    expect(received).toHaveLength(2)
    clock.advance(500)
    const error = await failing

    expect(received).toHaveLength(3)
    expect(error).toMatchObject({ code: 'TOOL_FAILED', outcome: 'failed', canRetry: true, retryAfterMs: 500 })
  })

  test('without a delay the pauses double; without can_retry there is no second try', async () => {
    const patient = await startScripted(
      fails({ message: 'Busy', can_retry: true }),
      fails({ message: 'Busy', can_retry: true }),
      succeeds('done'),
    )
    const strict = await startScripted(fails({ message: 'No', can_retry: 'true', retry_after_ms: 1 }))
    const clock = createStepClock()

    const calling = createOxpClient({ url: patient.url, clock }).call('a.b')
    await clock.timer(500)
    clock.advance(500)
    await clock.timer(1_000)
    clock.advance(1_000)
    const error = await failureOf(createOxpClient({ url: strict.url }).call('a.b'))

    expect((await calling).value).toBe('done')
    expect([error.message, error.canRetry, strict.received.length]).toEqual(['No', false, 1])
  })

  test('a wait beyond the deadline is not begun: the failure is known at once', async () => {
    const { url, received } = await startScripted(fails({ ...NOT_FOUND, retry_after_ms: 1e12 }))

    const error = await failureOf(createOxpClient({ url }).call('Doorbell.Ring', {}, { timeoutMs: 5_000 }))

    expect([error.code, error.retryAfterMs, received.length]).toEqual(['TOOL_FAILED', 1e12, 1])
  })

  test('a refusal with Retry-After is repeated with the same call id, because the tool was not called', async () => {
    const { url, received } = await startScripted(
      { status: 400, headers: { 'Retry-After': '2' }, body: { message: 'Too many calls' } },
      succeeds(1),
    )
    const clock = createStepClock()

    const calling = createOxpClient({ url, clock }).call('a.b')
    await clock.timer(2_000)
    clock.advance(2_000)

    expect((await calling).value).toBe(1)
    expect(received[0]?.body.call_id).toBe(received[1]?.body.call_id)
  })
})

describe('a model', () => {
  test('gets what the tool adds for it, and not the message for developers', async () => {
    verifies('oxp:45', 'oxp:33')
    const { url } = await startScripted(fails(NOT_FOUND))

    const error = await failureOf(createOxpClient({ url, retries: 0 }).call('Doorbell.Ring'))

    expect(error.additionalPromptContent).toBe('ids: doorbell42,doorbell84')
    expect(error.forModel()).toBe('Doorbell ID not found\nCalling the tool again may help.\nids: doorbell42,doorbell84')
    expect(error.developerMessage).toContain('doorbell1')
    expect(error.message + error.forModel()).not.toContain('does not exist')
  })

  test('can change the input before the next try, or give up', async () => {
    verifies('oxp:45')
    const { url, received } = await startScripted(fails({ ...NOT_FOUND, retry_after_ms: 0 }), succeeds('ringing'))
    const asked: string[] = []
    const oxp = createOxpClient({
      url,
      revise: async (error, input) => {
        asked.push(error.forModel())
        return { ...input, doorbell_id: 'doorbell42' }
      },
    })
    const other = await startScripted(fails(NOT_FOUND))
    const stubborn = createOxpClient({ url: other.url, revise: () => false })

    const { value } = await oxp.call('Doorbell.Ring', { doorbell_id: 'doorbell1', loud: true })
    const error = await failureOf(stubborn.call('Doorbell.Ring'))

    expect(value).toBe('ringing')
    expect(asked).toEqual([expect.stringContaining('ids: doorbell42')])
    expect(received[1]?.body.input).toEqual({ doorbell_id: 'doorbell42', loud: true })
    expect([error.code, other.received.length]).toEqual(['TOOL_FAILED', 1])
  })
})

describe('our server', () => {
  test('a failed call runs again under a new id, and the whole call under its id runs nothing again', async () => {
    verifies('oxp:43')
    const ran: string[] = []
    const ring = operation('v1:Doorbell.Ring', {
      sideEffecting: true,
      run: (_args, ctx) => {
        ran.push(ctx.requestId)
        if (ran.length < 3) ctx.fail('BUSY', 'The line is busy', { retryable: true, retryAfterMs: 0 })
        return 'ringing'
      },
    })
    const { url } = await startSite({ operations: [ring] })
    const oxp = createOxpClient({ url })

    const first = await oxp.call('Doorbell.Ring', {}, { callId: 'ring-1' })
    const again = await oxp.call('Doorbell.Ring', {}, { callId: 'ring-1' })

    expect([first.value, again.value]).toEqual(['ringing', 'ringing'])
    expect(ran).toEqual(['ring-1', 'ring-1-retry-1', 'ring-1-retry-2'])
    expect(again.callId).toBe('ring-1-retry-2')
  })

  test('a tool that is still running is joined, and runs once', async () => {
    const serverClock = createStepClock()
    const clock = createStepClock()
    const gate = createGate<string>()
    let runs = 0
    const build = operation('v1:jobs.build', {
      model: 'async',
      sideEffecting: true,
      run: () => {
        runs++
        return gate.pass()
      },
    })
    const { url } = await startSite({ operations: [build], clock: serverClock })
    const oxp = createOxpClient({ url, clock, retries: 0 })

    const calling = oxp.call('jobs.build')
    for (const _ of [1, 2]) {
      await serverClock.timer(30_000)
      serverClock.advance(30_000)
      await clock.timer(250)
      clock.advance(250)
    }
    await serverClock.timer(30_000)
    gate.open('built')

    expect((await calling).value).toBe('built')
    expect(runs).toBe(1)
  })
})

describe('a broken connection', () => {
  test('is not repeated by itself, because the tool may have run', async () => {
    const { url, received } = await startScripted((response) => response.destroy())

    const error = await failureOf(createOxpClient({ url }).call('a.b', {}, { callId: 'c1' }))

    expect(error).toMatchObject({ code: 'UNREACHABLE', outcome: 'unknown', callId: 'c1' })
    expect(error.forModel()).toContain('The tool may have run')
    expect(received).toHaveLength(1)
  })

  test('is repeated with the same call id where the server knows its calls, and the tool runs once', async () => {
    let runs = 0
    const pay = operation('v1:orders.pay', { sideEffecting: true, run: () => ++runs })
    const site = await startSite({ operations: [pay] })
    let lost = 0
    const clock = createStepClock()
    const oxp = createOxpClient({
      url: site.url,
      clock,
      repeatLostCalls: true,
      // The response gets lost after the server has run the call.
      fetch: async (address, init) => {
        const response = await fetch(address, init)
        if (lost++ > 0) return response
        await response.text()
        throw new TypeError('terminated')
      },
    })

    const calling = oxp.call('orders.pay')
    await clock.timer(500)
    clock.advance(500)

    expect((await calling).value).toBe(1)
    expect([runs, lost]).toEqual([1, 2])
  })
})
