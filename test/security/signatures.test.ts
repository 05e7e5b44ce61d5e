import { generateKeyPairSync, hash, verify } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createServer, createToken, jsonSchema, operation } from '../../src/index.ts'
import { verifies } from '../requirements.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const signing = { keyId: 'test-key', privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }

const add = operation('v1:Calculator.Add', {
  args: jsonSchema<{ a: number; b: number }>({ type: 'object', required: ['a', 'b'] }),
  run: ({ a, b }) => a + b,
})

test('an answer is signed at the binding, over status, request line, type and body, and the envelope has no field for it', async () => {
  verifies('opencall:216', 'opencall:217')
  const data = mkdtempSync(join(tmpdir(), 'signed-'))
  const server = await createServer({ operations: [add], data, signing })
  const { url } = await server.listen({ port: 0 })

  const response = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"op":"v1:Calculator.Add","args":{"a":1,"b":2}}',
  })
  const refused = await fetch(`${url}/nowhere`)
  const body = await response.text()

  expect(response.headers.get('content-digest')).toBe(`sha-256=:${hash('sha256', body, 'base64')}:`)
  expect(isSigned(response, 'POST', '/call')).toBe(true)
  expect(isSigned(response, 'POST', '/other')).toBe(false)
  expect(isSigned(refused, 'GET', '/nowhere')).toBe(true)
  expect(Object.keys(JSON.parse(body)).sort()).toEqual(['requestId', 'result', 'state'])
  await server.close()
  rmSync(data, { recursive: true })
})

test('a refused WebSocket upgrade is signed like every other response', async () => {
  const data = mkdtempSync(join(tmpdir(), 'signed-'))
  const { hash: known } = createToken()
  const auth = { tokens: [{ hash: known, kind: 'bearer' as const, subject: 'ada', scopes: ['*'] }] }
  const server = await createServer({ operations: [add], data, signing, auth })
  const { url } = await server.listen({ port: 0 })
  const refusal = async (headers: Record<string, string>) => {
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', ...headers }
    const asked = request(`${url}/call?x=1`, { headers: upgrade }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    return new Response(null, { status: response.statusCode ?? 0, headers: response.headers as Record<string, string> })
  }

  const unknown = await refusal({ authorization: 'Bearer wrong', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' })
  const invalid = await refusal({ 'sec-websocket-key': 'short' })

  expect([unknown.status, invalid.status, invalid.headers.get('sec-websocket-version')]).toEqual([401, 400, '13, 8'])
  expect(isSigned(unknown, 'GET', '/call')).toBe(true)
  expect(isSigned(invalid, 'GET', '/call')).toBe(true)
  await server.close()
  rmSync(data, { recursive: true })
})

test('a key that is not Ed25519 is refused when the server is made', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const data = mkdtempSync(join(tmpdir(), 'signed-'))

  const made = createServer({ operations: [add], data, signing: { keyId: 'k', privateKey: rsa.toString() } })

  await expect(made).rejects.toMatchObject({ message: expect.stringContaining('Ed25519') })
  rmSync(data, { recursive: true })
})

/** Verifies as RFC 9421, section 3.2, says, from nothing but the response and the public key. */
function isSigned(response: Response, method: string, path: string): boolean {
  const input = response.headers.get('signature-input') ?? ''
  const [, params, list] = /^callplane=(\(([^)]*)\);created=\d+;keyid="test-key";alg="ed25519")$/.exec(input) ?? []
  if (params === undefined || list === undefined) return false
  const values: Record<string, string | null> = {
    '"@status"': String(response.status),
    '"@method";req': method,
    '"@path";req': path,
    '"content-type"': response.headers.get('content-type'),
    '"content-digest"': response.headers.get('content-digest'),
  }
  const base = [...list.split(' ').map((name) => `${name}: ${values[name]}`), `"@signature-params": ${params}`].join(
    '\n',
  )
  const signature = /^callplane=:(.+):$/.exec(response.headers.get('signature') ?? '')?.[1] ?? ''
  return verify(null, Buffer.from(base), publicKey, Buffer.from(signature, 'base64'))
}
