/** What a call hands over is for all its attempts, and for nobody's eyes. */
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createGate, startSite } from './server.ts'

const SECRET = 'hunter2-hunter2'

function toolCall(tool: string): RequestInit {
  const body = { tool_id: tool, input: {}, context: { secrets: [{ id: 's', value: SECRET }] } }
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

test.each([
  ['one that is run on the spot', {}],
  ['one that is recorded', { model: 'async' }],
] as const)('a secret is there at the second attempt of %s', async (_kind, rules) => {
  const flaky = operation('v1:t.flaky', {
    ...rules,
    requires: { secrets: ['s'] },
    retry: { attempts: 2, backoffMs: 1 },
    run: (_args, ctx) => {
      if (ctx.attempt === 1) throw new Fault('upstream', 'Not yet.')
      return ctx.secret('s').length
    },
  })
  const site = await startSite({ operations: [flaky] })

  const answer = await site.request('/tools/call', toolCall('t.flaky'))

  expect(await answer.json()).toMatchObject({ success: true, value: SECRET.length })
})

test('a secret in a progress message is in no poll', async () => {
  const gate = createGate()
  const slow = operation('v1:t.slow', {
    model: 'async',
    requires: { secrets: ['s'] },
    run: (_args, ctx) => {
      ctx.progress(0.5, `using ${ctx.secret('s')}`)
      return gate.pass()
    },
  })
  const site = await startSite({ operations: [slow] })
  const init = toolCall('t.slow')
  const body = JSON.stringify({ ...JSON.parse(init.body as string), call_id: 'c1' })
  const calling = site.request('/tools/call', { ...init, body })
  await gate.began

  await expect.poll(async () => (await site.poll('c1')).body.progress?.message).toBe('using [redacted]')

  gate.open('done')
  expect(await (await calling).json()).toMatchObject({ success: true })
})
