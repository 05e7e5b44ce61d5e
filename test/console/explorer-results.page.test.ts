/** Results in Chromium: every kind is shown, and none runs. Streams and uploads. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { operation } from 'callplane'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { encodeArgs } from '../../console/src/explore/link-args.ts'
import { browser, describeWith } from '../engines/engines.ts'
import { verifies } from '../requirements.ts'
import { type ConsoleSite, startConsole } from './site.ts'
import { until } from './waiting.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const HARM = "document.title='harmed'"
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = Buffer.concat([
  Buffer.from(
    'RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x08\x00\x00\x00',
    'latin1',
  ),
  Buffer.alloc(8, 128),
])
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="${HARM}"><script>${HARM}</script><rect width="20" height="20"/></svg>`
const HTML = `<!doctype html><img src=x onerror="${HARM}"><script>${HARM}</script>`
const MARKDOWN = `# Title\n\n<script>${HARM}</script> ![pixel](https://other.example/pixel.png) [go](javascript:${HARM})\n\n- item`
const CSV = 'name,formula\nada,"=HYPERLINK(""https://other.example"")"\n'
const PDF = '%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n'

const PATIENT = { timeout: 10_000 }

const FILES: Record<string, [type: string, bytes: string | Buffer]> = {
  html: ['text/html', HTML],
  svg: ['image/svg+xml', SVG],
  markdown: ['text/markdown', MARKDOWN],
  csv: ['text/csv', CSV],
  png: ['image/png', Buffer.from(PNG, 'base64')],
  wav: ['audio/wav', WAV],
  mp4: ['video/mp4', Buffer.from('00000018667479706d703432', 'hex')],
  pdf: ['application/pdf', PDF],
  fake: ['application/pdf', HTML],
  zip: ['application/zip', randomBytes(64)],
  json: ['application/json', '{"big":12345678901234567890}'],
}

let received = 0
let leftAfter = 0

/** A hundred frames at a time, ten times a second. */
async function* ticks(frames: number, signal: AbortSignal) {
  for (let n = 1; n <= frames; n++) {
    yield { n, value: Math.sin(n / 50) }
    if (n % 100 === 0) await pause(100, undefined, { signal })
  }
}

const operations = [
  operation('v1:files.get', {
    args: z.object({ name: z.string() }),
    ttlSeconds: 60,
    run({ name }, ctx) {
      const [mimeType, bytes] = FILES[name] ?? ['text/plain', '']
      return ctx.object(bytes, { mimeType, filename: `result.${name}` })
    },
  }),
  operation('v1:values.hidden', { result: z.string(), run: () => 'pay\u202e\u200b\u0007 <b>bold</b>' }),
  operation('v1:tools.content', {
    run: () => ({
      content: [
        { type: 'text', text: 'Some text' },
        { type: 'image', mimeType: 'image/png', data: PNG },
        { type: 'audio', mimeType: 'audio/wav', data: WAV.toString('base64') },
        { type: 'resource', resource: { uri: 'x://csv', mimeType: 'text/csv', text: CSV } },
        { type: 'resource', resource: { uri: 'x://png', mimeType: 'image/png', blob: PNG } },
        { type: 'resource_link', uri: 'javascript:alert(1)', name: 'A link' },
        { type: 'unknown', what: 'other' },
      ],
    }),
  }),
  operation('v1:ticks.watch', {
    args: z.object({ frames: z.int() }),
    frame: z.object({ n: z.int(), value: z.number() }),
    async *run({ frames }, { signal }) {
      try {
        yield* ticks(frames, signal)
      } finally {
        leftAfter++
      }
    },
  }),
  operation('v1:files.count', {
    media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 200_000_000 }],
    result: z.object({ bytes: z.int() }),
    async run(_args, ctx) {
      received = 0
      for await (const piece of ctx.media.file?.stream() ?? []) received += piece.length
      return { bytes: received }
    },
  }),
]

describeWith(browser, 'results in the explorer', () => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await startConsole({ operations, rest: { allowExecute: true } })
  })
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    site.complaints.length = 0
  })

  const at = async (op: string, args: object, query = '') => {
    const page = await site.open(`#/op/${op}?a=${await encodeArgs(JSON.stringify(args))}&${query}`, { at: 'explorer' })
    page.setDefaultTimeout(15_000)
    return page
  }
  const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: true })
  const ran = async (op: string, args: object, query = '') => {
    const page = await at(op, args, query)
    await run(page).click()
    await page.getByText('Complete', { exact: true }).waitFor()
    return page
  }
  const value = (page: Page) => page.locator('.result-value')
  const isInert = async (page: Page) => {
    expect(await page.title()).not.toContain('harmed')
    expect(site.complaints).toEqual([])
  }

  test('feature 11: HTML is source, and an SVG is a picture that runs nothing', async () => {
    const html = await ran('v1:files.get', { name: 'html' })
    await value(html).getByText('<script>').waitFor()
    const svg = await ran('v1:files.get', { name: 'svg' })
    const picture = svg.getByRole('img', { name: 'Image of the result' })
    await picture.waitFor()

    const width = await picture.evaluate(async (element) => {
      const image = element as unknown as { decode(): Promise<void>; naturalWidth: number }
      await image.decode()
      return image.naturalWidth
    })
    expect(width).toBe(20)
    await svg.getByRole('button', { name: 'Source' }).click()
    await value(svg).getByText('<script>').waitFor()
    await isInert(html)
    await isInert(svg)
  })

  test('feature 11: Markdown has no HTML and loads no image; CSV is a table of words', async () => {
    const markdown = await ran('v1:files.get', { name: 'markdown' })
    await markdown.getByRole('heading', { name: 'Title' }).waitFor()
    expect(await markdown.locator('.markdown').innerText()).toContain('Image, not loaded: pixel')
    expect(await markdown.locator('.markdown').locator('img, script, a').count()).toBe(0)
    const csv = await ran('v1:files.get', { name: 'csv' })
    await csv.getByText('=HYPERLINK("https://other.example")').waitFor()
    expect(await csv.locator('.csv a').count()).toBe(0)
    await isInert(markdown)
    await isInert(csv)
  })

  test('feature 11: images, sound, film, JSON and unknown types', async () => {
    const png = await ran('v1:files.get', { name: 'png' })
    await png.getByRole('img', { name: 'Image of the result' }).waitFor()
    const wav = await ran('v1:files.get', { name: 'wav' })
    await wav.locator('audio[src^=blob]').waitFor()
    const mp4 = await ran('v1:files.get', { name: 'mp4' })
    await mp4.locator('video[src^=blob]').waitFor()
    const json = await ran('v1:files.get', { name: 'json' })
    await value(json).getByText('12345678901234567890').waitFor()
    const zip = await ran('v1:files.get', { name: 'zip' })
    await value(zip).getByText('This type has no preview.').waitFor()
    const downloading = zip.waitForEvent('download')
    await zip.getByRole('button', { name: 'Save as a file' }).click()
    expect((await downloading).suggestedFilename()).toBe('result.zip')
    await isInert(png)
  })

  test('feature 11: a PDF is framed after a click, and only if it is one', async () => {
    const pdf = await ran('v1:files.get', { name: 'pdf' })
    expect(await pdf.locator('iframe').count()).toBe(0)
    await pdf.getByRole('button', { name: 'Show the PDF' }).click()
    await pdf.locator('iframe[src^=blob]').waitFor()
    const fake = await ran('v1:files.get', { name: 'fake' })
    await fake.getByRole('button', { name: 'Show the PDF' }).click()
    await fake.getByText('It is not shown.').waitFor()

    expect(await fake.locator('iframe').count()).toBe(0)
    await isInert(fake)
  })

  test('hidden characters and those that turn text are shown by their codes', async () => {
    const page = await ran('v1:values.hidden', {})

    const words = await value(page).innerText()

    for (const code of ['U+202E', 'U+200B', 'U+0007']) expect(words).toContain(code)
    expect(words).toContain('<b>bold</b>')
  })

  test('content of a tool is shown by its type, on the Tool Execution API and elsewhere', async () => {
    verifies('rest:50')
    for (const wire of ['rest', 'opencall', 'mcp']) {
      const page = await ran('v1:tools.content', {}, `wire=${wire}`)
      const contents = page.locator('.contents')
      await contents.getByText('Some text').waitFor()

      await expect.poll(() => contents.locator('img[src^=blob]').count()).toBe(2)
      await contents.locator('audio[src^=blob]').waitFor()
      expect(await contents.locator('.csv').innerText()).toContain('=HYPERLINK')
      expect(await contents.innerText()).toContain('javascript:alert(1)')
      expect(await contents.locator('a').count()).toBe(0)
      expect(await contents.innerText()).toContain('"what": "other"')
      await isInert(page)
      await page.context().close()
    }
  })

  test('feature 7: 1,000 frames a second are counted, charted and paused; stopping ends the generator', async () => {
    leftAfter = 0
    const page = await at('v1:ticks.watch', { frames: 1_000_000 })
    await run(page).click()
    const count = async () => Number((await page.locator('.stream-view strong').innerText()).replaceAll(/\D/g, ''))
    await expect.poll(count, { timeout: 20_000 }).toBeGreaterThan(2_000)
    // The line is drawn: some points of the canvas have its colour.
    await until(
      page,
      `(({ width, height }) => width * height > 0 && document.querySelector('.frames-chart canvas').getContext('2d')
        .getImageData(0, 0, width, height).data.some((part) => part > 0))(document.querySelector('.frames-chart canvas'))`,
    )
    expect(await page.locator('.code-row').count()).toBeLessThan(80)

    await page.getByRole('button', { name: 'Pause' }).click()
    // What had arrived before the click may still be drawn.
    let paused = await count()
    const further = async () => {
      const before = paused
      await pause(400)
      paused = await count()
      return paused - before
    }
    await expect.poll(further, PATIENT).toBe(0)
    await page.getByRole('button', { name: 'Resume' }).click()
    await expect.poll(count, PATIENT).toBeGreaterThan(paused)
    const resumed = await count()
    await expect.poll(count, PATIENT).toBeGreaterThan(resumed)
    await page.getByRole('button', { name: 'Stop' }).click()

    await page.getByText('Ended', { exact: true }).waitFor()
    await expect.poll(() => leftAfter, PATIENT).toBe(1)
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save frames' }).click()
    expect((await downloading).suggestedFilename()).toBe('v1-ticks.watch.jsonl')
    expect(site.complaints).toEqual([])
  })

  test('a check knows of the attachments', async () => {
    const page = await at('v1:files.count', {})
    const file = { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') }
    await page.locator('.op input[type=file]').setInputFiles(file)
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('The call would run').waitFor()
  })

  test('feature 10: 100 MB are uploaded with progress, and a wrong type is refused before anything is sent', async () => {
    const page = await at('v1:files.count', {})
    await run(page).waitFor()
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.url()))
    const input = page.locator('.op input[type=file]')
    await input.setInputFiles({ name: 'x.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') })
    await page.getByRole('alert').waitFor()
    expect(await run(page).isDisabled()).toBe(true)
    expect(sent).toEqual([])

    await page.evaluate(`
      globalThis.words = []
      const look = () => words.push(document.querySelector('.run-line')?.textContent ?? '')
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true })
      const transfer = new DataTransfer()
      transfer.items.add(new File([new Uint8Array(100_000_000).fill(65)], 'large.txt', { type: 'text/plain' }))
      const field = document.querySelector('.op input[type=file]')
      field.files = transfer.files
      field.dispatchEvent(new Event('change', { bubbles: true }))
    `)
    await run(page).click()
    await page.getByText('Complete', { exact: true }).waitFor({ timeout: 45_000 })

    expect(await value(page).innerText()).toContain('"bytes": 100000000')
    const words = await page.evaluate(`words.join('\\n')`)
    expect(words).toMatch(/MB of 100 MB sent/)
    await page.context().close()
  })
})
