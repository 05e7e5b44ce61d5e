/** Results at another location: when the caller is redirected, when it gets the location, and what it finds there. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createToken, operation } from 'callplane'
import { describe, expect, onTestFinished, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { createGate, createStepClock, type StepClock, startSite } from './server.ts'

const REDIRECT = { headers: { Prefer: 'redirect' } }

describe('external results', () => {
  const film = operation('v1:films.watch', {
    run: (_args, ctx) =>
      ctx.location('https://cdn.example/film.mp4', {
        auth: { credentialType: 'bearer', credential: 'film-pass', expiresAtMs: Date.UTC(2026, 0, 2) },
        redirect: true,
      }),
  })
  const poster = operation('v1:films.poster', {
    run: (_args, ctx) => ctx.location('https://cdn.example/poster.png', { redirect: true }),
  })
  const trailer = operation('v1:films.trailer', { run: (_args, ctx) => ctx.location('https://cdn.example/t.mp4') })
  const live = operation('v1:films.live', {
    run: (_args, ctx) => ctx.location('mqtt://broker.example/films', { redirect: true }),
  })

  test('a location that needs a credential is 202 with it, even if a redirect is preferred', async () => {
    verifies('opencall:082', 'opencall:083', 'opencall:084', 'opencall:087', 'opencall:105', 'opencall:120')
    verifies('opencall:053', 'opencall:081', 'opencall:177', 'opencall:241')
    const site = await startSite({ operations: [film] })

    for (const sending of [{}, REDIRECT]) {
      const { status, headers, body } = await site.call('v1:films.watch', {}, { requestId: 'film-1' }, sending)
      expect(status).toBe(202)
      expect(headers.get('Location')).toBeNull()
      expect(body).toEqual({
        requestId: 'film-1',
        state: 'complete',
        location: {
          uri: 'https://cdn.example/film.mp4',
          auth: { credentialType: 'bearer', credential: 'film-pass', expiresAt: Date.UTC(2026, 0, 2) / 1000 },
        },
      })
    }
  })

  test('a public one is 303 where the operation or the caller asks for it, and 202 otherwise', async () => {
    verifies('opencall:082', 'opencall:086', 'opencall:106', 'opencall:119', 'opencall:176', 'opencall:242')
    verifies('opencall:145')
    const site = await startSite({ operations: [poster, trailer] })

    const asked = await site.call('v1:films.poster')
    const preferred = await site.call('v1:films.trailer', {}, undefined, REDIRECT)
    const told = await site.call('v1:films.trailer')

    for (const answer of [asked, preferred]) {
      expect(answer.status).toBe(303)
      expect(answer.headers.get('Location')).toBe(answer.body.location?.uri)
      expect(answer.body.location).not.toHaveProperty('auth')
    }
    expect(told).toMatchObject({
      status: 202,
      body: { state: 'complete', location: { uri: 'https://cdn.example/t.mp4' } },
    })
  })

  test('one is never fetched by the server: callers go there themselves', async () => {
    verifies('opencall:175')
    const asked: string[] = []
    const studio = createHttpServer(({ url = '' }, response) => {
      asked.push(url)
      response.end('a film')
    })
    await new Promise<void>((resolve) => studio.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void studio.close())
    const at = `http://127.0.0.1:${(studio.address() as AddressInfo).port}`
    const watch = operation('v1:films.watch', {
      ttlSeconds: 60,
      args: { type: 'object', properties: { redirect: { type: 'boolean' } } },
      run: ({ redirect }, ctx) => ctx.location(`${at}/film.mp4`, { redirect: redirect === true }),
    })
    const site = await startSite({ operations: [watch], references: { allowHosts: [at], allowPrivate: true } })

    const told = await site.call('v1:films.watch', {}, { requestId: 'told' })
    const sent = await site.call('v1:films.watch', { redirect: true }, { requestId: 'sent' })
    const polled = await site.poll('told')
    const events = await (await site.request('/ops/told/events')).text()
    const askedOfUs = [...asked]
    const film = await fetch(told.body.location?.uri ?? '')

    expect([told.status, sent.status, polled.status]).toEqual([202, 303, 202])
    for (const text of [...[told, sent, polled].map(({ body }) => JSON.stringify(body)), events]) {
      expect(text).toContain(`${at}/film.mp4`)
      expect(text).not.toContain('a film')
    }
    expect(askedOfUs).toEqual([])
    expect(await film.text()).toBe('a film')
  })

  test('a location that no HTTP client can follow is 202', async () => {
    verifies('opencall:082', 'opencall:121', 'opencall:177', 'opencall:241')
    const site = await startSite({ operations: [live] })

    const answer = await site.call('v1:films.live', {}, undefined, REDIRECT)

    expect(answer).toMatchObject({ status: 202, body: { location: { uri: 'mqtt://broker.example/films' } } })
  })

  test('a result that is not ready is 202 with the polling address, and the poll returns the location', async () => {
    verifies('opencall:080', 'opencall:105', 'opencall:122')
    const gate = createGate<string>()
    const cut = operation('v1:films.cut', {
      model: 'async',
      run: async (_args, ctx) => ctx.location(await gate.pass(), { redirect: true }),
    })
    const site = await startSite({ operations: [cut] })

    const accepted = await site.call('v1:films.cut', {}, { requestId: 'cut-1' }, REDIRECT)
    await gate.began
    const pending = await site.poll('cut-1', REDIRECT.headers)
    gate.open('https://cdn.example/cut.mp4')
    const ended = await site.ended('cut-1')

    for (const answer of [accepted, pending]) {
      expect(answer).toMatchObject({ status: 202, body: { location: { uri: `${site.url}/ops/cut-1` } } })
    }
    expect(ended.status).toBe(303)
    expect(ended.headers.get('Location')).toBe('https://cdn.example/cut.mp4')
  })
})

describe('objects of our own', () => {
  const [ada, bob] = [createToken(), createToken()]
  const token = (hash: string, subject: string) => ({ hash, kind: 'bearer' as const, subject, scopes: [] })
  const auth = { tokens: [token(ada.hash, 'ada'), token(bob.hash, 'bob')] }
  const AS_ADA = { Authorization: `Bearer ${ada.token}` }
  const TEXT = '0123456789'
  const draw = operation('v1:art.draw', {
    ttlSeconds: 600,
    cache: { policy: 'location' },
    run: (_args, ctx) => ctx.object(TEXT, { mimeType: 'text/plain; charset=utf-8', filename: 'zehn ziffern.txt' }),
  })

  async function startDrawn(clock: StepClock = createStepClock()) {
    const site = await startSite({ operations: [draw], auth, clock })
    const { status, body } = await site.call('v1:art.draw', {}, { requestId: 'draw-1' }, { headers: AS_ADA })
    const path = (body.location?.uri ?? '').slice(site.url.length)
    const get = (headers: Record<string, string> = {}, method = 'GET') =>
      site.request(path, { method, headers: { ...AS_ADA, ...headers } })
    return { site, clock, status, body, path, get }
  }

  test('are 202 with a location, and are read unchanged with the caller’s own credential', async () => {
    verifies('opencall:086', 'opencall:145', 'opencall:146', 'opencall:178', 'opencall:179', 'opencall:180')
    const { site, status, body, path, get } = await startDrawn()

    const mine = await get()
    const theirs = await site.request(path, { headers: { Authorization: `Bearer ${bob.token}` } })
    const nobodys = await site.request(path)

    expect(status).toBe(202)
    expect(body).toMatchObject({ state: 'complete', location: { uri: site.url + path } })
    expect(body.location).not.toHaveProperty('auth')
    expect(mine.status).toBe(200)
    expect(await mine.text()).toBe(TEXT)
    expect(Object.fromEntries(mine.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '10',
      'accept-ranges': 'bytes',
      'cache-control': 'private, max-age=3600, immutable',
      'content-disposition': "attachment; filename*=UTF-8''zehn%20ziffern.txt",
      // The result of an operation, with any content, must not act as a page of this origin.
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
      'last-modified': new Date(Date.UTC(2026, 0, 1)).toUTCString(),
    })
    expect(theirs.status).toBe(404)
    expect(nobodys.status).toBe(401)
  })

  test('are a redirect for a client that prefers one: a link that needs no credential, until it expires', async () => {
    verifies('opencall:082', 'opencall:086', 'opencall:106', 'opencall:119', 'opencall:176', 'opencall:242')
    const { site, clock } = await startDrawn()

    const redirected = await site.poll('draw-1', { ...AS_ADA, Prefer: 'redirect' })
    const link = redirected.headers.get('Location') ?? ''
    const followed = await fetch(link)
    clock.advance(600_000 - 1)
    const last = await fetch(link)
    clock.advance(1)
    const late = await fetch(link)

    expect(redirected.status).toBe(303)
    expect(redirected.body.location?.uri).toBe(link)
    expect(await followed.text()).toBe(TEXT)
    expect(await last.text()).toBe(TEXT)
    expect(late.status).toBe(401)
  })

  test('are not reached by a link that was changed', async () => {
    verifies('opencall:110', 'opencall:242')
    const { site } = await startDrawn()
    await site.call('v1:art.draw', {}, { requestId: 'draw-2' }, { headers: AS_ADA })
    const [first, second] = await Promise.all(
      ['draw-1', 'draw-2'].map(async (id) => {
        const { headers } = await site.poll(id, { ...AS_ADA, Prefer: 'redirect' })
        return new URL(headers.get('Location') ?? '')
      }),
    )
    const changed = [
      `${first?.pathname}${second?.search.replace(/expires=\d+/, 'expires=99999999999999')}`,
      `${second?.pathname}${first?.search}`,
      `${first?.pathname}${first?.search}x`,
      `${first?.pathname}${first?.search}&expires=99999999999999`,
      `${first?.pathname}?expires=99999999999999&signature=`,
    ]

    for (const path of changed) expect((await site.request(path)).status, path).toBe(401)
    expect((await fetch(first?.href ?? '')).status).toBe(200)
  })

  test('answer conditional requests', async () => {
    verifies('opencall:139', 'opencall:146')
    const { get } = await startDrawn()
    const { headers } = await get()
    const etag = headers.get('ETag') ?? ''
    const modified = headers.get('Last-Modified') ?? ''

    const unchanged = await get({ 'If-None-Match': etag })
    const listed = await get({ 'If-None-Match': `"other", W/${etag}` })
    const since = await get({ 'If-Modified-Since': modified })
    const other = await get({ 'If-None-Match': '"other"', 'If-Modified-Since': modified })
    const mismatch = await get({ 'If-Match': '"other"' })

    for (const answer of [unchanged, listed, since]) {
      expect(answer.status).toBe(304)
      expect(answer.headers.get('ETag')).toBe(etag)
      expect(await answer.text()).toBe('')
    }
    expect(other.status).toBe(200)
    expect(mismatch.status).toBe(412)
    expect(await mismatch.json()).toMatchObject({ error: { code: 'PRECONDITION_FAILED' } })
  })

  test('answer range requests', async () => {
    verifies('opencall:139', 'opencall:181')
    const { get } = await startDrawn()
    const etag = (await get()).headers.get('ETag') ?? ''

    const cases = [
      ['bytes=2-4', '234', 'bytes 2-4/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-2', '89', 'bytes 8-9/10'],
      ['bytes=8-99', '89', 'bytes 8-9/10'],
    ] as const
    for (const [range, text, contentRange] of cases) {
      const part = await get({ Range: range, 'If-Range': etag })
      expect(part.status).toBe(206)
      expect(part.headers.get('Content-Range')).toBe(contentRange)
      expect(await part.text()).toBe(text)
    }
    const beyond = await get({ Range: 'bytes=10-' })
    const changed = await get({ Range: 'bytes=2-4', 'If-Range': '"other"' })
    const head = await get({ Range: 'bytes=2-4' }, 'HEAD')

    expect(beyond.status).toBe(416)
    expect(beyond.headers.get('Content-Range')).toBe('bytes */10')
    expect(await beyond.json()).toMatchObject({ error: { code: 'RANGE_NOT_SATISFIABLE' } })
    expect([changed.status, await changed.text()]).toEqual([200, TEXT])
    expect([head.status, head.headers.get('Content-Length'), await head.text()]).toEqual([200, '10', ''])
  })

  test('and events name the same place as a poll', async () => {
    verifies('opencall:081')
    const { site, body } = await startDrawn()

    const events = await (await site.request('/ops/draw-1/events', { headers: AS_ADA })).text()

    expect(events).toContain(`"location":${JSON.stringify(body.location)}`)
  })
})
