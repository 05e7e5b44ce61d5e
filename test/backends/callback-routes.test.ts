import { createHmac } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { closeHttpServer, createHttpServer, createRequestListener, listen } from '../../src/carriers/http/index.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { createCallbackRoutes } from '../../src/server/mount/callback-routes.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'

const SECRET = 'between us'
const clock = createManualClock()
const NOW = String(clock.now() / 1000)

/** Knows the calls `r/1` and `done`, and the signing secret for every id except `secretless`. */
async function open() {
  const delivered: [string, JsonObject][] = []
  const refuse = () => ({ status: 500, headers: {} })
  const routes = createCallbackRoutes({
    clock,
    refuse,
    secretFor: async (id) => (id === 'secretless' ? undefined : SECRET),
    async deliver(id, answer) {
      if (id === 'done') return 'answered'
      if (id !== 'r/1') return 'unknown'
      delivered.push([id, answer])
      return 'taken'
    },
  })
  const server = createHttpServer(createRequestListener(routes, { fallback: refuse }))
  onTestFinished(() => closeHttpServer(server, 0))
  const { url } = await listen(server, { host: '127.0.0.1', port: 0 })
  const post = async (id: string, body: string, headers: Record<string, string>) => {
    const path = `/v1/tool-callbacks/${encodeURIComponent(id)}`
    return (await fetch(url + path, { method: 'POST', body, headers })).status
  }
  return { delivered, post }
}

const sign = (body: string, timestamp = NOW, secret = SECRET) =>
  createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')

const signed = (body: string, timestamp = NOW) => ({ 'X-Timestamp': timestamp, 'X-Signature': sign(body, timestamp) })

const answerTo = (id: string, more: object = {}) =>
  JSON.stringify({ request_id: id, status: 'ok', output: { text: 'größe' }, ...more })

test('a signed answer is delivered, with or without the name of the hash before its signature', async () => {
  verifies('contract:145')
  const { delivered, post } = await open()
  const body = answerTo('r/1')

  expect(await post('r/1', body, signed(body))).toBe(202)
  expect(await post('r/1', body, { 'X-Timestamp': NOW, 'X-Signature': `sha256=${sign(body).toUpperCase()}` })).toBe(202)
  expect(delivered).toEqual([
    ['r/1', JSON.parse(body)],
    ['r/1', JSON.parse(body)],
  ])
})

test('a second callback is a conflict, and a callback for a call that does not wait is not found', async () => {
  const { post } = await open()

  expect(await post('done', answerTo('done'), signed(answerTo('done')))).toBe(409)
  expect(await post('other', answerTo('other'), signed(answerTo('other')))).toBe(404)
})

const body = answerTo('r/1')

test.each<[string, string, Record<string, string>]>([
  ['no signature', 'r/1', { 'X-Timestamp': NOW }],
  ['no time', 'r/1', { 'X-Signature': sign(body) }],
  ['another secret', 'r/1', { 'X-Timestamp': NOW, 'X-Signature': sign(body, NOW, 'guess') }],
  ['the signature of another body', 'r/1', { 'X-Timestamp': NOW, 'X-Signature': sign(answerTo('r/2')) }],
  ['the signature of another time', 'r/1', { 'X-Timestamp': NOW, 'X-Signature': sign(body, String(Number(NOW) - 1)) }],
  ['a signature that is too short', 'r/1', { 'X-Timestamp': NOW, 'X-Signature': sign(body).slice(2) }],
  ['a time too long ago', 'r/1', signed(body, String(Number(NOW) - 301))],
  ['a time yet to come', 'r/1', signed(body, String(Number(NOW) + 301))],
  ['a time that is not a number', 'r/1', signed(body, '0x1')],
])('an answer with %s is refused and not delivered', async (_, id, headers) => {
  const { delivered, post } = await open()

  expect(await post(id, body, headers)).toBe(401)
  expect(delivered).toEqual([])
})

test('a call that does not exist, or that accepts no callbacks, is not found', async () => {
  const { delivered, post } = await open()

  expect(await post('secretless', body, signed(body))).toBe(404)
  expect(delivered).toEqual([])
})

test('the clocks may differ by five minutes', async () => {
  const { post } = await open()

  expect(await post('r/1', body, signed(body, String(Number(NOW) - 300)))).toBe(202)
})

test.each([
  ['not JSON', 'done!'],
  ['not final', answerTo('r/1', { status: 'running' })],
  ['about another call', answerTo('r/2')],
  ['about no call', '{"status":"ok"}'],
  ['of another version', answerTo('r/1', { tool_contract_version: 'v2' })],
])('an answer that is %s is ignored, though it is signed', async (_, said) => {
  const { delivered, post } = await open()

  expect(await post('r/1', said, signed(said))).toBe(400)
  expect(delivered).toEqual([])
})
