import { jsonSchema, operation } from 'callplane'
import { expect, test } from 'vitest'
import { startSite } from '../scenarios/server.ts'

const tick = operation('v1:clock.tick', {
  args: jsonSchema<{ count: number }>({ type: 'object', properties: { count: { type: 'integer' } } }),
  frame: jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }),
  async *run({ count }) {
    for (let n = 1; n <= count; n++) yield { n }
  },
})

test('a stream is read as server-sent events with its ticket', async () => {
  const site = await startSite({ operations: [tick] })
  const { status, body } = await site.call('v1:clock.tick', { count: 3 }, { requestId: 'tick-1', sessionId: 's1' })
  expect([status, body]).toMatchObject([202, { state: 'streaming', stream: { transport: 'wss', encoding: 'json' } }])
  const stream = body.stream as { location: string; auth: { credential: string } }
  const url = `${stream.location.replace('ws', 'http')}?ticket=${stream.auth.credential}`
  const response = await fetch(url, { headers: { accept: 'text/event-stream' } })
  const text = await response.text()
  expect(text).toContain('event: end')
  expect((await site.poll('tick-1')).body).toMatchObject({
    state: 'complete',
    result: { frames: 3, dropped: 0, ended: 'done' },
  })
})
