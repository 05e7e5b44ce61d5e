import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openChromium } from './chromium.ts'
import { browser, describeWith } from './engines.ts'

describeWith(browser, 'Chromium', () => {
  test('runs a script in a page from loopback', async () => {
    const url = await servePage('<title>A page</title>')
    await using chromium = await openChromium()
    const page = await chromium.newPage()

    await page.goto(url)

    expect(await page.title()).toBe('A page')
    expect(await page.evaluate('1+1')).toBe(2)
  })

  test('speaks WebSocket, WebRTC and WebTransport', async () => {
    const url = await servePage('')
    await using chromium = await openChromium()
    const page = await chromium.newPage()

    await page.goto(url)

    expect(await page.evaluate('[WebSocket, RTCPeerConnection, WebTransport].map(({ name }) => name)')).toEqual([
      'WebSocket',
      'RTCPeerConnection',
      'WebTransport',
    ])
  })
})

async function servePage(html: string): Promise<string> {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.closeAllConnections())
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
