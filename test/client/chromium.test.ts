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

vi.setConfig({ testTimeout: 60_000 })

const root = join(import.meta.dirname, '../..')

const add = operation('v1:math.add', {
  args: z.object({ a: z.number(), b: z.number() }),
  result: z.number(),
  run: ({ a, b }, ctx) => (a < 0 ? ctx.fail('NEGATIVE', 'Only positive numbers.') : a + b),
})
const report = operation('v1:reports.generate', {
  result: z.object({ rows: z.number() }),
  model: 'async',
  run: (_args, ctx) => {
    ctx.progress(0.5, 'half way')
    return { rows: 3 }
  },
})
const exportOrders = operation('v1:orders.export', {
  args: z.object({ rows: z.number() }),
  chunked: { mimeType: 'text/csv' },
  ttlSeconds: 60,
  async *run({ rows }) {
    for (let row = 0; row < rows; row++) yield `row ${row}\n`
  },
})
const photo = operation('v1:photos.get', {
  ttlSeconds: 60,
  run: (_args, ctx) => ctx.object('pixels', { mimeType: 'image/png', redirect: true }),
})
const describeFile = operation('v1:files.describe', {
  media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 1_000_000 }],
  result: z.object({ bytes: z.number() }),
  async run(_args, ctx) {
    let bytes = 0
    for await (const piece of ctx.media.file.stream()) bytes += piece.length
    return { bytes }
  },
})
const count = operation('v1:clock.count', {
  args: z.object({ to: z.number() }),
  frame: z.object({ n: z.number() }),
  stream: { integrity: 'crc32' },
  async *run({ to }) {
    for (let n = 1; n <= to; n++) yield { n }
  },
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
  const api = createClient({ url, token: 'page' })
  const framesOf = async (stream) => { const seen = []; for await (const { n } of stream) seen.push(n); return seen }
  const run = await api.reports.generate.start()
  const photo = await api.photos.get()
  return {
    sum: await api.math.add({ a: 1, b: 2 }),
    fault: await api.math.add({ a: -1, b: 2 }).catch((error) => isFault(error, 'NEGATIVE')),
    report: await run.result(),
    text: await api.orders.export({ rows: 3 }).text(),
    photo: [photo.mimeType, await photo.text()],
    upload: await api.files.describe({}, { media: { file: new File(['x'.repeat(5000)], 'a "b".txt', { type: 'text/plain' }) } }),
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
      upload: { bytes: 5000 },
      frames: [1, 2, 3, 4],
      orbit: [1, 2, 3],
    })
  })
})
