/** Chromium reads streams over WebRTC. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { orbit } from '../../../examples/webrtc-stream/operations.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { openChromium } from '../../engines/chromium.ts'
import { browser, describeWith } from '../../engines/engines.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { untilConnections } from './connections.ts'
import { openPage } from './page.ts'
import { count, fails, tick } from './streams.ts'
import { guardUdp } from './udp-guard.ts'

vi.setConfig({ testTimeout: 60_000 })
guardUdp()

const numbers = (last: number) => Array.from({ length: last }, (_, index) => ({ n: index + 1 }))

describeWith(browser, 'streams over WebRTC, read by Chromium', () => {
  test('frames arrive in order on a data channel, and the reader learns of the end', async () => {
    verifies('opencall:321', 'opencall:323')
    const site = await startSite({ operations: [count], webrtc: true })
    await using chromium = await openChromium()
    const page = await openPage(chromium, site.url)

    const seen = await page.evaluate<Record<string, unknown>>(`(async () => {
      const reader = newReader()
      const reply = await call('v1:numbers.count', { count: 500, webrtc: await offer(reader.pc) }, 'first')
      await reader.pc.setRemoteDescription(reply.stream.webrtc)
      await reader.until(({ closed, ends }) => closed.first && ends.length > 0)
      return { reply, frames: reader.frames.first, ends: reader.ends }
    })()`)

    expect(seen).toMatchObject({
      reply: {
        status: 202,
        state: 'streaming',
        stream: {
          transport: 'webrtc',
          location: expect.stringMatching(/^webrtc:[\w-]+\/first$/),
          webrtc: { type: 'answer', candidates: [expect.stringMatching(/^candidate:.* 127\.0\.0\.1 \d+ typ host/)] },
        },
      },
      frames: numbers(500),
      ends: [{ requestId: 'first', state: 'complete' }],
    })
    expect((await site.ended('first')).body).toMatchObject({ state: 'complete', result: { frames: 500 } })
    await untilConnections(site, 0)
  })

  test('two streams share one connection, and one that fails does not end the other', async () => {
    verifies('opencall:323')
    const site = await startSite({ operations: [tick, fails], webrtc: true })
    await using chromium = await openChromium()
    const page = await openPage(chromium, site.url)

    const seen = await page.evaluate<Record<string, unknown>>(`(async () => {
      const reader = newReader()
      const first = await call('v1:numbers.tick', { webrtc: await offer(reader.pc) }, 'one')
      await reader.pc.setRemoteDescription(first.stream.webrtc)
      await reader.until(({ frames }) => frames.one?.length > 2)
      const { connection } = first.stream.webrtc
      const second = await call('v1:numbers.fail', { webrtc: { connection, ordered: false } }, 'two')
      await call('v1:numbers.tick', { webrtc: { connection, maxRetransmits: 0 } }, 'three')
      await reader.until(({ closed, frames }) => closed.two && frames.three?.length > 0)
      const before = reader.frames.one.length
      await reader.until(({ frames }) => frames.one.length > before + 2)
      return {
        second,
        sameConnection: second.stream.webrtc.connection === connection,
        reliability: ['one', 'two', 'three'].map((id) => [reader[id].ordered, reader[id].maxRetransmits]),
        ends: reader.ends,
      }
    })()`)

    expect(seen).toMatchObject({
      second: { status: 202, stream: { transport: 'webrtc' } },
      sameConnection: true,
      reliability: [
        [true, null],
        [false, null],
        [true, 0],
      ],
      ends: [{ requestId: 'two', state: 'error', error: { code: 'DEVICE_OFF' } }],
    })
    await untilConnections(site, 1)
    await site.call('v1:unsubscribeFromStream', { requestId: 'one' })
    await site.call('v1:unsubscribeFromStream', { requestId: 'three' })
    expect((await site.ended('one')).body).toMatchObject({ state: 'complete', result: { ended: 'unsubscribed' } })
    await untilConnections(site, 0)
  })

  test('a reader that closes its connection is gone, and the stream ends a minute later', async () => {
    const clock = createManualClock()
    const site = await startSite({ operations: [tick], webrtc: true, clock, work: { leaseMs: 600_000 } })
    await using chromium = await openChromium()
    const page = await openPage(chromium, site.url)

    await page.evaluate(`(async () => {
      const reader = newReader()
      const { stream } = await call('v1:numbers.tick', { webrtc: await offer(reader.pc) }, 'left')
      await reader.pc.setRemoteDescription(stream.webrtc)
      await reader.until(({ frames }) => frames.left?.length > 2)
      reader.pc.close()
    })()`)
    await untilConnections(site, 0)
    const before = (await site.poll('left')).body.state
    clock.advance(60_000)

    expect(before).toBe('streaming')
    expect((await site.ended('left')).body).toMatchObject({ state: 'error', error: { code: 'PANIC_READER_GONE' } })
  })

  test('the example of the documentation runs', async () => {
    const site = await startSite({ operations: [orbit], webrtc: true })
    await using chromium = await openChromium()
    const page = await chromium.newPage()
    await page.goto(`${site.url}/.well-known/ops`)
    const text = readFileSync(join(import.meta.dirname, '../../../docs/adapters/carriers/webrtc.md'), 'utf8')
    const code = /```js\n(.*?)```/s.exec(text)?.[1]?.replace('console.log(await ended, frames.length)', '')

    const seen = await page.evaluate(`(async () => {
      ${code}
      return { end: await ended, frames: frames.length, first: frames[0] }
    })()`)

    expect(seen).toMatchObject({ end: { state: 'complete' }, frames: 100, first: { x: 1, y: 0 } })
  })

  test('signaling needs the credential, and the connection itself none', async () => {
    verifies('opencall:236', 'opencall:322', 'opencall:324')
    const hash = (token: string) => `sha256:${createHash('sha256').update(token).digest('hex')}`
    const token = (name: string) => ({ hash: hash(name), kind: 'bearer' as const, subject: name, scopes: ['*'] })
    const auth = { tokens: [token('token-of-ada'), token('token-of-bob')] }
    const site = await startSite({ operations: [tick], webrtc: true, auth })
    await using chromium = await openChromium()
    const page = await openPage(chromium, site.url)

    const seen = await page.evaluate<Record<string, unknown>>(`(async () => {
      const as = (name) => ({ authorization: 'Bearer token-of-' + name })
      const reader = newReader()
      const webrtc = await offer(reader.pc)
      const refused = await call('v1:numbers.tick', { webrtc }, 'mine')
      const reply = await call('v1:numbers.tick', { webrtc }, 'mine', as('ada'))
      await reader.pc.setRemoteDescription(reply.stream.webrtc)
      await reader.until(({ frames }) => frames.mine?.length > 0)
      const { connection } = reply.stream.webrtc
      const foreign = await call('v1:numbers.tick', { webrtc: { connection } }, 'theirs', as('bob'))
      return { refused, reply, foreign }
    })()`)

    expect(seen).toMatchObject({
      refused: { status: 401, state: 'error', error: { code: 'AUTH_REQUIRED' } },
      reply: { status: 202, state: 'streaming' },
      foreign: { state: 'error', error: { code: 'CONNECTION_NOT_FOUND' } },
    })
    expect((seen.reply as { stream: object }).stream).not.toHaveProperty('auth')
  })
})
