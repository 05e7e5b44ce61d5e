/** `GET /` says what this server is and where to go on. */
import { readFileSync } from 'node:fs'
import { createToken, operation } from 'callplane'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { startSite } from './server.ts'

const ping = operation('v1:secret.ping', { run: () => 'pong' })
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

const read = async (url: string, accept?: string, method = 'GET') => {
  const response = await fetch(`${url}/`, { method, ...(accept && { headers: { accept } }) })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

test('the root names the registry, the explorer and the docs, as text, JSON or HTML', async () => {
  const { url } = await startSite({ operations: [ping] })

  const [text, json, html] = [
    await read(url),
    await read(url, 'application/json'),
    await read(url, 'text/html,application/xhtml+xml,*/*;q=0.8'),
  ]

  expect([text.status, text.type]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(text.text).toContain(`Callplane ${version}`)
  expect(text.text).toContain(`${url}/.well-known/ops`)
  expect(JSON.parse(json.text)).toMatchObject({ name: 'Callplane', version, explorer: `${url}/explorer` })
  expect([html.type, html.text]).toEqual([
    'text/html; charset=utf-8',
    expect.stringContaining(`href="${url}/explorer"`),
  ])
  for (const { url: linked } of [{ url: `${url}/.well-known/ops` }, { url: `${url}/explorer` }]) {
    expect((await fetch(linked)).status).toBe(200)
  }
  expect([await read(url, undefined, 'HEAD')]).toMatchObject([{ status: 200, text: '' }])
  expect((await read(url, undefined, 'POST')).status).toBe(404)
})

test('with authentication it tells no version, and never an operation', async () => {
  const { hash } = createToken()
  const { url } = await startSite({
    operations: [ping],
    auth: { tokens: [{ hash, kind: 'bearer', subject: 'ada', scopes: ['*'] }] },
  })

  for (const accept of ['text/plain', 'application/json', 'text/html']) {
    const { status, text } = await read(url, accept)
    expect(status).toBe(200)
    expect(text).not.toContain(version)
    expect(text).not.toContain('secret')
  }
})

test('an application that mounts the server keeps its own root', async () => {
  const { server } = await startSite({ operations: [ping] })
  const app = express()
  app.use(server.listener)
  app.get('/', (_request, response) => void response.send('our own page'))
  const own = app.listen(0, '127.0.0.1')
  onTestFinished(() => void own.close())
  await new Promise((resolve) => own.once('listening', resolve))
  const { port } = own.address() as { port: number }

  expect((await read(`http://127.0.0.1:${port}`)).text).toBe('our own page')
})
