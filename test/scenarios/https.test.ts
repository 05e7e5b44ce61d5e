/** HTTPS on the main port, with a certificate that signs itself. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer, jsonSchema, operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { QUICKSTART, runProcess, serveProcess } from '../cli/processes.ts'
import { createCertificate } from '../fixtures/tls.ts'
import { startSite, temporaryFolder } from './server.ts'

vi.setConfig({ testTimeout: 30_000 })

const any = jsonSchema({ type: 'object' })
const add = operation('v1:math.add', { args: any, result: jsonSchema({ type: 'integer' }), run: async () => 3 })
const later = operation('v1:math.later', { args: any, result: any, model: 'async', run: async () => ({}) })
const ticks = operation('v1:math.ticks', {
  args: any,
  frame: jsonSchema({ type: 'integer' }),
  async *run() {
    yield 1
  },
})

function certificate() {
  const files = createCertificate()
  onTestFinished(() => files[Symbol.dispose]())
  return files
}

async function post(url: string, ca: string, envelope: object): Promise<{ status: number; body: unknown }> {
  const asked = request(`${url}/call`, { method: 'POST', ca, headers: { 'content-type': 'application/json' } })
  asked.end(JSON.stringify(envelope))
  const [response] = await once(asked, 'response')
  return { status: response.statusCode, body: JSON.parse(await text(response)) }
}

test('with a certificate the server speaks HTTPS, and its links say so', async () => {
  const { cert, key } = certificate()
  const { url } = await startSite({ operations: [add, later, ticks], tls: { cert, key } })

  const answer = await post(url, cert, { op: 'v1:math.add', args: {} })
  const accepted = await post(url, cert, { op: 'v1:math.later', args: {}, ctx: { requestId: 'r-1' } })
  const stream = await post(url, cert, { op: 'v1:math.ticks', args: {} })

  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
  expect(answer).toMatchObject({ status: 200, body: { state: 'complete', result: 3 } })
  expect(accepted).toMatchObject({ status: 202, body: { location: { uri: `${url}/ops/r-1` } } })
  const { location } = (stream.body as { stream: { location: string } }).stream
  expect(location).toMatch(`${url.replace('https', 'wss')}/streams/`)
})

test('a client that does not trust the certificate or speaks plain HTTP gets no response, and others are served', async () => {
  const { cert, key } = certificate()
  const { url } = await startSite({ operations: [add], tls: { cert, key } })
  const port = Number(new URL(url).port)

  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined).resume()
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(socket, 'close')

  await expect(post(url, '', { op: 'v1:math.add', args: {} })).rejects.toThrow(/self[- ]signed|unable to verify/)
  expect(await post(url, cert, { op: 'v1:math.add', args: {} })).toMatchObject({ status: 200 })
})

test('a certificate or a key that cannot be used is refused at the start', async () => {
  const first = certificate()
  const other = certificate()
  const start = (tls: { cert: string; key: string }) =>
    createServer({ operations: [add], data: join(temporaryFolder(), 'data'), tls })

  await expect(start({ cert: 'no certificate', key: first.key })).rejects.toThrow('tls.cert must be a certificate')
  await expect(start({ cert: first.cert, key: 'no key' })).rejects.toThrow(
    'tls.key must be the private key of tls.cert',
  )
  await expect(start({ cert: first.cert, key: other.key })).rejects.toThrow('tls.key must be the private key')
})

test('the command line takes both files, and names the one that is missing', async () => {
  const { cert, certFile, keyFile } = certificate()
  const folder = temporaryFolder()
  const nowhere = join(folder, 'nowhere.pem')
  const wrong = join(folder, 'wrong.pem')
  writeFileSync(wrong, 'not PEM')
  const serve = (...flags: string[]) => runProcess(['serve', QUICKSTART, '--port', '0', '--data', folder, ...flags])

  const server = await serveProcess([QUICKSTART, '--data', folder, '--tls-cert', certFile, '--tls-key', keyFile])
  const answer = await post(server.url, cert, { op: 'v1:Calculator.Add', args: { a: 1, b: 2 } })
  server.kill('SIGTERM')
  await server.ended

  expect(server.url).toMatch(/^https:/)
  expect(answer).toMatchObject({ status: 200, body: { result: 3 } })
  expect((await serve('--tls-cert', certFile)).stderr).toContain('--tls-cert and --tls-key need each other')
  expect((await serve('--tls-cert', nowhere, '--tls-key', keyFile)).stderr).toContain(`cannot read ${nowhere} (ENOENT)`)
  expect((await serve('--tls-cert', certFile, '--tls-key', wrong)).stderr).toContain('tls.key must be the private key')
})
