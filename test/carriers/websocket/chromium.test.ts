/** Chromium's own WebSocket: calls and streams from a page. */
import { expect, test, vi } from 'vitest'
import { openChromium } from '../../engines/chromium.ts'
import { browser, describeWith } from '../../engines/engines.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { counting } from './operations.ts'
import { withTokens } from './tokens.ts'

vi.setConfig({ testTimeout: 60_000 })

/** Runs in the page: calls a stream on a shared socket, then one on a socket of its own. */
const SCRIPT = `async ({ token }) => {
  const opened = (socket) => new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = () => reject(new Error('no connection')) })
  const url = location.origin.replace('http', 'ws')
  const socket = new WebSocket(url + '/call?access_token=' + token, ['callplane.json'])
  socket.binaryType = 'arraybuffer'
  await opened(socket)
  const seen = []
  const shared = new Promise((resolve) => {
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') {
        const { requestId, state, stream } = JSON.parse(data)
        if (requestId !== 'r' && !stream) return
        seen.push(state)
        if (stream?.auth) resolve(stream)
        if (state === 'complete') socket.send(JSON.stringify({ op: 'v1:clock.tick', args: { count: 2, transport: 'wss' } }))
      } else {
        seen.push([new DataView(data).getUint32(0), new TextDecoder().decode(data.slice(4))])
      }
    }
  })
  socket.send(JSON.stringify({ op: 'v1:clock.tick', args: { count: 2 }, ctx: { requestId: 'r' } }))
  const stream = await shared
  const own = new WebSocket(stream.location + '?ticket=' + stream.auth.credential)
  own.onmessage = ({ data }) => seen.push(data)
  const { code, reason } = await new Promise((resolve) => { own.onclose = resolve })
  const refused = new WebSocket(stream.location + '?ticket=' + stream.auth.credential)
  const error = await opened(refused).catch(({ message }) => message)
  return { protocol: socket.protocol, seen, code, reason, error }
}`

describeWith(browser, 'Chromium', () => {
  test('a page calls, and reads streams on the same connection and on one of its own', async () => {
    verifies('opencall:302', 'opencall:304', 'opencall:306')
    const { ann, auth } = withTokens()
    const { url } = await startSite({ operations: [counting], auth })
    await using chromium = await openChromium()
    const page = await chromium.newPage()
    await page.goto(`${url}/health`)

    expect(await page.evaluate(`(${SCRIPT})({ token: ${JSON.stringify(ann)} })`)).toEqual({
      protocol: 'callplane.json',
      seen: ['streaming', [1, '{"n":1}'], [1, '{"n":2}'], 'complete', 'streaming', '{"n":1}', '{"n":2}'],
      code: 1000,
      reason: 'complete',
      error: 'no connection',
    })
  })

  test('a page of another site gets no connection', async () => {
    const { url } = await startSite({ operations: [counting] })
    const other = await startSite({ operations: [] })
    await using chromium = await openChromium()
    const page = await chromium.newPage()
    await page.goto(`${other.url}/health`)
    const connect = `new Promise((resolve) => {
      const socket = new WebSocket('${url.replace('http', 'ws')}/call')
      socket.onopen = () => resolve('open')
      socket.onclose = ({ code }) => resolve(code)
    })`

    expect(await page.evaluate(connect)).toBe(1006)
  })
})
