/** The client in a page of Chromium, from its sources. */
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { hashToken, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { openChromium } from '../engines/chromium.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { startSite } from '../scenarios/server.ts'
import { add, count, describeFile, exportOrders, report } from './operations.ts'

vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '../..')

const photo = operation('v1:photos.get', {
  ttlSeconds: 60,
  run: (_args, ctx) => ctx.object('pixels', { mimeType: 'image/png', redirect: true }),
})
const orbit = operation('v1:clock.orbit', {
  frame: z.object({ n: z.number() }),
  stream: { transports: ['webrtc'] },
  async *run() {
    for (let n = 1; n <= 3; n++) yield { n }
  },
})

/** Runs in the page: the sources are modules there. */
const SCRIPT = `async (url) => {
  const { createClient, isFault } = await import('/src/client/index.ts')
  const { webSocketTransport } = await import('/src/client/websocket/index.ts')
  const shared = createClient({ transport: webSocketTransport({ url, token: 'page' }) })
  const api = createClient({ url, token: 'page' })
  const framesOf = async (stream) => { const seen = []; for await (const { n } of stream) seen.push(n); return seen }
  const run = await api.reports.generate.start({ steps: 3 })
  const photo = await api.photos.get()
  return {
    sum: await api.math.add({ a: 1, b: 2 }),
    fault: await api.math.add({ a: -1, b: 2 }).catch((error) => isFault(error, 'NEGATIVE')),
    report: await run.result(),
    text: await api.orders.export({ rows: 3 }).text(),
    photo: [photo.mimeType, await photo.text()],
    upload: await api.files.describe({}, { media: { file: new File(['x'.repeat(5000)], 'a "b".txt', { type: 'text/plain' }) } }),
    shared: [
      await shared.math.add({ a: 1, b: 2 }),
      await framesOf(shared.clock.count({ to: 3 })),
      await (await shared.reports.generate.start({ steps: 2 })).result(),
    ],
    frames: await framesOf(api.clock.count({ to: 4 })),
    orbit: await framesOf(api.clock.orbit()),
  }
}`

describeWith(browser, 'Chromium', () => {
  test.each(['its own server', 'a server of another origin'])('a page calls %s', async (whose) => {
    const pages = await startSite({ operations: [add] })
    const { url } = await startSite({
      operations: [add, report, exportOrders, photo, describeFile, count, orbit],
      auth: { tokens: [{ hash: hashToken('page'), kind: 'bearer', subject: 'page', scopes: [] }] },
      webrtc: true,
      cors: { origins: [pages.url] },
    })
    const home = whose === 'its own server' ? url : pages.url
    await using chromium = await openChromium()
    const page = await chromium.newPage()
    await page.route(`${home}/src/**`, (route) => {
      const source = readFileSync(join(root, new URL(route.request().url()).pathname), 'utf8')
      return route.fulfill({ contentType: 'text/javascript', body: stripTypeScriptTypes(source) })
    })
    await page.goto(`${home}/health`)

    expect(await page.evaluate(`(${SCRIPT})(${JSON.stringify(url)})`)).toEqual({
      sum: 3,
      fault: true,
      report: { rows: 3 },
      text: 'row 0\nrow 1\nrow 2\n',
      photo: ['image/png', 'pixels'],
      upload: { bytes: 5000, type: 'text/plain', name: 'a "b".txt' },
      shared: [3, [1, 2, 3], { rows: 2 }],
      frames: [1, 2, 3, 4],
      orbit: [1, 2, 3],
    })
  })
})
