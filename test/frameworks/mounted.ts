/**
 * A client that uses a mounted server as users do: it calls, polls, uploads, downloads, cancels and reads streams. It
 * follows every link, and every link must be below the mount path. All hosts run the same steps.
 */
import { expect } from 'vitest'
import { WebSocket } from 'ws'
import { ask } from '../scenarios/mcp.ts'
import { answered, callerOf } from '../scenarios/server.ts'
import { readEvents, streamIn } from '../streams/sse.ts'

export interface Mounted {
  /** The address below which the server is mounted, as its clients see it: `http://127.0.0.1:3000/api`. */
  base: string
  /** Whether the host passes upgrades on. */
  webSocket: boolean
}

export async function useMounted({ base, webSocket }: Mounted): Promise<void> {
  const site = callerOf(base)
  const added = await site.call('v1:math.add', { a: 1, b: 2 })
  expect([added.status, added.body.result]).toEqual([200, 3])

  await followCall(base)
  await download(base)
  await upload(base)
  await readStream({ base, webSocket })
  await readPages(base)

  const { json } = await ask(site, 'tools/call', { name: 'art_draw', arguments: {} })
  expect(outsideLinks(base, json)).toEqual([])
  expect((await site.request('/nothing-is-here')).status).toBe(404)
}

async function followCall(base: string): Promise<void> {
  const site = callerOf(base)
  const accepted = await site.call('v1:jobs.build')
  const waiting = await site.call('v1:jobs.wait')
  const { uri = '' } = waiting.body.location ?? {}
  const canceled = await fetch(uri, { method: 'DELETE' })

  expect(accepted.body.location?.uri).toBe(`${base}/ops/${accepted.body.requestId}`)
  expect((await site.ended(accepted.body.requestId)).body.result).toBe('built')
  expect(canceled.status).toBeLessThan(300)
  expect((await site.ended(waiting.body.requestId)).body.error?.code).toBe('CANCELED')
}

/** The location in the reply, and the signed link that a redirect leads to. */
async function download(base: string): Promise<void> {
  const site = callerOf(base)
  const drawn = await site.call('v1:art.draw')
  const redirected = await site.call('v1:art.draw', {}, undefined, { headers: { Prefer: 'redirect' } })
  for (const link of [drawn.body.location?.uri ?? '', redirected.headers.get('location') ?? '']) {
    expect(link).toMatch(`${base}/objects/`)
    expect(await (await fetch(link)).text()).toBe('art')
  }
  expect(redirected.status).toBe(303)
}

async function upload(base: string): Promise<void> {
  const form = new FormData()
  const media = [{ name: 'file', mimeType: 'text/plain', part: 'file' }]
  form.append('envelope', JSON.stringify({ op: 'v1:files.measure', args: {}, media }))
  form.append('file', new Blob(['hello'], { type: 'text/plain' }), 'hello.txt')

  expect((await answered(await fetch(`${base}/call`, { method: 'POST', body: form }))).body.result).toBe(5)
}

async function readStream({ base, webSocket }: Mounted): Promise<void> {
  const site = callerOf(base)
  const { location, transport, url, ticket } = streamIn(await site.call('v1:clock.tick'))
  const events = await (await readEvents(`${url}?ticket=${ticket}`)).rest()

  expect(events.slice(0, 2).map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }])
  expect(location).toMatch(`${webSocket ? base.replace('http', 'ws') : base}/streams/`)
  expect(transport).toBe(webSocket ? 'wss' : 'sse')
  if (!webSocket) return
  const other = streamIn(await site.call('v1:clock.tick'))
  const socket = new WebSocket(`${other.location}?ticket=${other.ticket}`)
  const first = await new Promise((resolve, reject) => socket.on('message', resolve).on('error', reject))
  socket.terminate()
  expect(String(first)).toBe('{"n":1}')
}

/** The built page, all of its files, and the routes that it asks, with relative addresses only. */
export async function readConsole(base: string): Promise<void> {
  for (const place of ['explorer', 'console']) {
    const page = await fetch(`${base}/${place}`)
    const text = await page.text()
    const addresses = [...text.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)].map(
      ([, address = '']) => address,
    )

    expect(page.url).toBe(`${base}/${place}/`)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(addresses.filter((address) => !address.startsWith('./'))).toEqual([])
    expect(addresses.length).toBeGreaterThan(2)
    const files = await readFiles(addresses.map((address) => new URL(address, page.url).href))
    expect(files.filter((file) => !file.startsWith(`${base}/${place}/`))).toEqual([])
    // As the page asks them, from where it is.
    const asked = ['../.well-known/ops', '../console/session', '../explorer/', '../console/']
    for (const path of asked) expect([path, (await fetch(new URL(path, page.url))).status]).toEqual([path, 200])
    const [, listed = ''] = /<noscript>.*?<a href="([^"]+)"/s.exec(text) ?? []
    expect((await fetch(new URL(listed, page.url))).status).toBe(200)
  }
}

/** The addresses of these files, and of the scripts and styles that they load on demand. Each must be there. */
async function readFiles(addresses: readonly string[]): Promise<string[]> {
  const seen = new Set(addresses)
  for (const address of seen) {
    const response = await fetch(address)
    expect([address, response.status]).toEqual([address, 200])
    const text = await response.text()
    if (!address.endsWith('.js')) continue
    for (const [, name = ''] of text.matchAll(/["'`]\.\/([\w.-]+\.(?:js|css))["'`]/g))
      seen.add(new URL(name, address).href)
  }
  return [...seen]
}

async function readPages(base: string): Promise<void> {
  const registry = await (await fetch(`${base}/.well-known/ops`)).json()
  // Hosts such as Express answer the root of the path themselves.
  const root = await (await fetch(`${base}/`, { headers: { Accept: 'application/json' } })).text()
  const page = await (await fetch(`${base}/explorer`)).text()
  const [, href = ''] = /<dt><a href="([^"]+)"/.exec(page) ?? []
  const linked = await fetch(new URL(href, `${base}/explorer`))

  expect([...outsideLinks(base, registry), ...outsideLinks(base, root)]).toEqual([])
  expect(new URL(href, `${base}/explorer`).href).toMatch(`${base}/explorer/`)
  expect(linked.status).toBe(200)
}

/** All addresses in a document that are on another host or not below the base. */
function outsideLinks(base: string, document: unknown): string[] {
  const links = JSON.stringify(document).match(/\b(?:https?|wss?):\/\/[^"\\\s]+/g) ?? []
  const isSchema = (link: string) => link.startsWith('https://json-schema.org/')
  return links.filter((link) => !isSchema(link) && !link.replace(/^ws/, 'http').startsWith(`${base}/`))
}
