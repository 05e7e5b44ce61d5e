/** Attachments that a caller names by address: fetched under guard, and identical for a handler to inline ones. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { operation, type ServerOptions } from 'callplane'
import { describe, expect, onTestFinished, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { answered, type Site, startSite } from './server.ts'

const MAX_BYTES = 100

async function startFiles(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const serveText: RequestListener = (request, response) => {
  const [type, body] =
    request.url === '/photo.png'
      ? ['image/png', 'png']
      : request.url === '/long.txt'
        ? ['text/plain', 'x'.repeat(MAX_BYTES + 1)]
        : ['text/plain', 'hello']
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length })
  response.end(request.method === 'HEAD' ? undefined : body)
}

const read = operation('v1:files.read', {
  media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: MAX_BYTES }],
  run: async (_args, ctx) => {
    const { file, ...others } = ctx.media
    return { name: file?.name, mimeType: file?.mimeType, text: await file?.text(), others: Object.keys(others) }
  },
})

function startReader(references?: ServerOptions['references']): Promise<Site> {
  return startSite({ operations: [read], ...(references && { references }) })
}

function callWith(site: Site, ref: string, mimeType = 'text/plain') {
  return site.call('v1:files.read', {}, undefined, { envelope: { media: [{ name: 'file', mimeType, ref }] } })
}

describe('references', () => {
  test('reach the handler as inline attachments do', async () => {
    verifies('opencall:185', 'opencall:186')
    const files = await startFiles(serveText)
    const site = await startReader({ allowHosts: [files], allowPrivate: true })
    const form = new FormData()
    const media = [{ name: 'file', mimeType: 'text/plain', part: 'p' }]
    form.set('envelope', JSON.stringify({ op: 'v1:files.read', media }))
    form.set('p', new Blob(['hello'], { type: 'text/plain' }))

    const inline = await answered(await site.request('/call', { method: 'POST', body: form }))
    const referenced = await callWith(site, `${files}/hello.txt`)

    expect(referenced.body.result).toEqual({ name: 'file', mimeType: 'text/plain', text: 'hello', others: [] })
    expect(inline.body.result).toEqual(referenced.body.result)
    expect([inline.status, referenced.status]).toEqual([200, 200])
  })

  test('are checked for type and size before anything runs, by what the other side says', async () => {
    verifies('opencall:189', 'opencall:190', 'opencall:191')
    const files = await startFiles(serveText)
    const site = await startReader({ allowHosts: [files], allowPrivate: true })

    const claimed = await callWith(site, `${files}/hello.txt`, 'image/png')
    const actual = await callWith(site, `${files}/photo.png`)
    const long = await callWith(site, `${files}/long.txt`)

    expect(claimed).toMatchObject({ status: 400, body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } } })
    expect(actual).toMatchObject({ status: 400, body: { error: { code: 'UNSUPPORTED_MEDIA_TYPE' } } })
    expect(long).toMatchObject({ status: 400, body: { error: { code: 'MEDIA_TOO_LARGE' } } })
  })

  test('that lie about their size are cut off while they are read', async () => {
    verifies('opencall:190', 'opencall:191')
    const files = await startFiles((request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain' })
      if (request.method === 'HEAD') response.end()
      else response.end('x'.repeat(MAX_BYTES + 1))
    })
    const site = await startReader({ allowHosts: [files], allowPrivate: true })

    const { body } = await callWith(site, `${files}/endless.txt`)

    expect(body).toMatchObject({ state: 'error', error: { code: 'MEDIA_TOO_LARGE' } })
  })

  test('are refused with advice where nothing is configured', async () => {
    verifies('opencall:129')
    const site = await startReader()

    const { status, body } = await callWith(site, 'https://cdn.example/file.txt')

    expect(status).toBe(400)
    expect(body.error).toMatchObject({ code: 'MEDIA_REF_REFUSED', message: expect.stringContaining('allowHosts') })
  })

  test('go nowhere private: not directly, not by a redirect, not by a name', async () => {
    verifies('opencall:129')
    let reached = 0
    const secret = await startFiles((_request, response) => {
      reached++
      response.end('secret')
    })
    const open = await startFiles((_request, response) => response.writeHead(302, { Location: `${secret}/x` }).end())
    const port = new URL(secret).port
    const guarded = await startReader({
      allowHosts: [`http://127.0.0.1:${port}`, `http://files.example:${port}`],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    })
    const trusting = await startReader({ allowHosts: [open], allowPrivate: true })

    const answers = [
      await callWith(guarded, `${secret}/x`),
      await callWith(guarded, `http://files.example:${port}/x`),
      await callWith(guarded, 'http://169.254.169.254/latest/meta-data'),
      await callWith(guarded, 'file:///etc/passwd'),
      await callWith(trusting, `${open}/x`),
    ]

    for (const { status, body } of answers) {
      expect(status).toBe(400)
      expect(body.error?.code).toBe('MEDIA_REF_REFUSED')
    }
    expect(reached).toBe(0)
  })

  test('that cannot be reached are 502, and the message has only the host of the address', async () => {
    verifies('opencall:117')
    const files = await startFiles((_request, response) => response.writeHead(404).end())
    const closed = 'http://127.0.0.1:1'
    const site = await startReader({ allowHosts: [files, closed], allowPrivate: true })

    for (const base of [files, closed]) {
      const { status, body } = await callWith(site, `${base}/file.txt?signature=abcdef`)
      expect(status).toBe(502)
      expect(body.error?.code).toBe('PANIC_MEDIA_REF_UNREACHABLE')
      expect(JSON.stringify(body)).not.toContain('abcdef')
    }
  })
})
