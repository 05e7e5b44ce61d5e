/** What OpenCALL's later revision adds to discovery: `schemaHash`, `endpoints`, `errorsUrl`, and `/.well-known/errors`. */
import { createHash } from 'node:crypto'
import { createServer, createToken, jsonSchema, type OperationDefinition, operation } from 'callplane'
import express from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ErrorEntry, ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { callerOf, startSite, temporaryFolder } from '../../scenarios/server.ts'

interface Registry {
  callVersion: string
  schemaHash: string
  endpoints: string[]
  errorsUrl: string
  operations: { op: string }[]
}

interface Errors {
  callVersion: string
  schemaHash: string
  service: ErrorEntry[]
  operations: Record<string, ErrorEntry[]>
}

const ring = operation('v1:Doorbell.Ring', {
  errors: { NO_SUCH_BELL: { description: 'There is no such bell.', remedy: 'List the bells.', retryable: true } },
  run: (_args, ctx) => ctx.fail('NO_SUCH_BELL', 'No.'),
})
const polish = operation('v1:Doorbell.Polish', {
  model: 'async',
  errors: { TOO_SHINY: { description: 'It shines already.' } },
  run: () => null,
})
const ping = operation('v1:ping', { run: () => 'pong' })

/** Written for this test: sorted keys, no white space. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}

function hashOf({ schemaHash: _, ...document }: object & { schemaHash: string }): string {
  return `sha256:${createHash('sha256').update(canonical(document)).digest('hex')}`
}

describe.each(['/.well-known/ops', '/.well-known/errors'])('%s', (path) => {
  test('has a hash of its content, which is also its ETag', async () => {
    const site = await startSite({ operations: [ring, polish, ping] })

    const plain = await site.request(path, { headers: { 'Accept-Encoding': 'identity' } })
    const zipped = await site.request(path, { headers: { 'Accept-Encoding': 'gzip' } })
    const document = (await plain.json()) as Registry
    const etag = plain.headers.get('etag')
    const again = await site.request(path, { headers: { 'If-None-Match': `"x", ${etag}` } })

    expect(document.callVersion).toBe('2026-02-10')
    expect(document.schemaHash).toBe(hashOf(document))
    expect(etag).toBe(`"${document.schemaHash}"`)
    expect(zipped.headers.get('etag')).toBe(`"${document.schemaHash}-gzip"`)
    expect(await zipped.json()).toEqual(document)
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect(plain.headers.get('cache-control')).toContain('max-age')
  })

  test('has another hash for other operations, and the same for the same ones', async () => {
    const hash = async (operations: OperationDefinition[]) => {
      const site = await startSite({ operations })
      return ((await (await site.request(path)).json()) as Registry).schemaHash
    }

    const both = await hash([ring, ping])

    expect(await hash([ring, ping])).toBe(both)
    expect(await hash([ping])).not.toBe(both)
  })

  test('accepts GET only', async () => {
    const site = await startSite({ operations: [ping] })

    const posted = await site.request(path, { method: 'POST', body: '{}' })

    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('shows internal operations to those who may call them, and to no shared cache', async () => {
    const { token, hash } = createToken()
    const secret = operation('v1:vault.open', {
      internal: true,
      scopes: ['vault'],
      errors: { JAMMED: { description: 'The door is jammed.' } },
      run: () => null,
    })
    const auth = { tokens: [{ kind: 'bearer' as const, hash, subject: 'ann', scopes: ['vault'] }] }
    const site = await startSite({ operations: [ping, secret], auth })
    const read = (headers: Record<string, string> = {}) => site.request(path, { headers })

    const open = await read()
    const own = await read({ Authorization: `Bearer ${token}` })

    expect(await open.text()).not.toMatch(/vault|JAMMED/)
    expect(await own.text()).toMatch(/vault/)
    expect([open, own].map(({ headers }) => headers.get('cache-control'))).toEqual([
      'public, max-age=60',
      'private, no-cache',
    ])
  })
})

describe('the registry', () => {
  test('names its endpoints, and every operation answers at both', async () => {
    const site = await startSite({ operations: [ping, ring] })
    const { endpoints, operations } = (await (await site.request('/.well-known/ops')).json()) as Registry

    expect(endpoints).toEqual(['rpc', 'path'])
    for (const { op } of operations) {
      const [version, name = ''] = op.split(':')
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }
      const byPath = await site.request(`/ops/${name.replaceAll('.', '/')}/${version}`, init)
      const { meta: _, requestId: _id, ...envelope } = (await byPath.json()) as ResponseEnvelope
      const { body } = await site.call(op)
      expect(body).toMatchObject(envelope)
    }
  })

  test('says where the errors are, also below a mount path', async () => {
    const start = async (basePath?: string) => {
      const server = await createServer({
        operations: [ping],
        data: temporaryFolder(),
        ...(basePath !== undefined && { basePath }),
      })
      onTestFinished(() => server.close(0))
      return server
    }
    const root = await startSite({ operations: [ping] })
    const below = await start('/api')
    const mounted = await start()
    const app = express().use('/one/two', mounted.listener)
    const http = app.listen(0, '127.0.0.1')
    onTestFinished(() => void http.close())
    await new Promise((resolve) => http.once('listening', resolve))
    const { port } = http.address() as { port: number }
    const errorsUrl = async (response: Response) => ((await response.json()) as Registry).errorsUrl

    const atRoot = await errorsUrl(await root.request('/.well-known/ops'))
    const atBase = await errorsUrl(await below.fetch(new Request('http://localhost/api/.well-known/ops')))
    const express5 = callerOf(`http://127.0.0.1:${port}`)
    const inExpress = await errorsUrl(await express5.request('/one/two/.well-known/ops'))

    expect([atRoot, atBase, inExpress]).toEqual([
      '/.well-known/errors',
      '/api/.well-known/errors',
      '/one/two/.well-known/errors',
    ])
    const catalogs = [
      await root.request(atRoot),
      await below.fetch(new Request(`http://localhost${atBase}`)),
      await express5.request(inExpress),
    ]
    for (const response of catalogs) expect(await response.json()).toMatchObject({ service: expect.any(Array) })
  })
})

describe('the errors', () => {
  const read = async (site: { request(path: string): Promise<Response> }) =>
    (await (await site.request('/.well-known/errors')).json()) as Errors

  test('of operations are those that they declare', async () => {
    const { operations } = await read(await startSite({ operations: [ring, polish, ping] }))

    expect(operations).toEqual({
      'v1:Doorbell.Ring': [
        {
          code: 'NO_SUCH_BELL',
          httpStatus: 200,
          state: 'error',
          message: 'There is no such bell.',
          remedy: 'List the bells.',
          retryable: true,
        },
      ],
      'v1:Doorbell.Polish': [
        { code: 'TOO_SHINY', httpStatus: 202, state: 'error', message: 'It shines already.', retryable: false },
      ],
    })
  })

  test('of the service have a code once, a status, a meaning and a remedy', async () => {
    const { service } = await read(await startSite({ operations: [ping] }))

    expect(new Set(service.map(({ code }) => code)).size).toBe(service.length)
    for (const { code, httpStatus, message, remedy, retryable } of service) {
      expect([code, /^[A-Z][A-Z_0-9]+$/.test(code), httpStatus >= 200 && httpStatus < 600]).toEqual([code, true, true])
      expect([message, remedy].map((text) => /^[A-Z].*\.$/.test(text ?? ''))).toEqual([true, true])
      expect(typeof retryable).toBe('boolean')
      expect(code.startsWith('PANIC_')).toBe(httpStatus >= 500 && code !== 'OUTCOME_UNKNOWN')
    }
  })

  test('have the codes and statuses of real refusals', async () => {
    const args = jsonSchema<object>({ type: 'object', required: ['a'] })
    const site = await startSite({
      operations: [
        ping,
        operation('v1:strict', { args, run: () => null }),
        operation('v1:acts', { sideEffecting: true, run: () => null }),
        operation('v1:breaks', {
          run: () => {
            throw new Error('broken')
          },
        }),
        operation('v1:scoped', { scopes: ['x'], run: () => null }),
      ],
    })
    const { service } = await read(site)
    const post = (body: string, headers: Record<string, string> = {}, path = '/call') =>
      site.request(path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body })
    const refusals = [
      post('{'),
      post('{"op":"v1:none"}'),
      post('{"op":"v1:ping","op":"v1:ping"}'),
      post('[]'),
      post('{}', { 'Content-Type': 'text/plain' }),
      post('{"op":"v1:strict"}'),
      post('{"op":"v1:acts"}'),
      post('{"op":"v1:breaks"}'),
      post('{"op":"v1:ping","media":[{"name":"x","mimeType":"text/plain","ref":"https://a.example"}]}'),
      post('{"op":"v1:ping"}', { 'Idempotency-Key': 'a, b' }),
      post('{"op":"v1:ping"}', { Origin: 'https://evil.example' }),
      site.request('/call'),
      site.request('/ops/none'),
      site.request('/ops/none/chunks?cursor=%00'),
      site.request('/ops/%zz'),
      site.request('/nothing'),
    ]

    for (const response of await Promise.all(refusals)) {
      const { error } = (await response.json()) as ResponseEnvelope
      const entry = service.find(({ code }) => code === error?.code)
      expect([error?.code, entry?.httpStatus]).toEqual([error?.code, response.status])
    }
  })
})
