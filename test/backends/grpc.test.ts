import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http2'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createGrpcBackend } from '../../src/backends/grpc/index.ts'
import { Fault } from '../../src/core/fault.ts'
import type { BackendSpec } from '../../src/core/operation/operation.ts'
import type { BackendParts } from '../../src/core/ports/backend.ts'
import { codeOf } from '../../src/protocols/contract/faults.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import { describeBackend } from '../../src/testing/suites/backend/backend.ts'
import { GRPC_CODES } from '../../src/wire/grpc/headers.ts'
import { startGrpcTool } from '../protocols/contract/peer.ts'
import { verifies } from '../requirements.ts'
import { backendContext, KEY, tokens } from './context.ts'
import { showsRuntimeSemantics } from './runtime-semantics.ts'

const LOOPBACK = [{ address: '127.0.0.1', family: 4 }]

function parts(more: Partial<BackendParts> = {}): BackendParts {
  return {
    clock: systemClock,
    log: createMemoryLog([]),
    remote: {} as BackendParts['remote'],
    folder: '/',
    lookup: async () => LOOPBACK,
    ...more,
  }
}

function plain(port: number, more: object = {}): BackendSpec {
  return { kind: 'grpc', endpoint: `http://127.0.0.1:${port}`, plaintext: true, allowPrivate: true, ...more }
}

function open(spec: BackendSpec, more: Partial<BackendParts> = {}) {
  const backend = createGrpcBackend(spec, parts(more))
  onTestFinished(() => backend.close?.())
  return backend
}

async function faultOf(running: unknown): Promise<Fault> {
  const thrown = await Promise.resolve(running).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (thrown instanceof Fault) return thrown
  throw new Error(`no fault: ${String(thrown)}`)
}

const ok = ({ request_id, input }: { request_id: string; input: object }) => ({
  tool_contract_version: 'v1',
  request_id,
  status: 'ok',
  output: input,
})

const failure = { code: 'invalid_input', reason: 'tool_invalid_input', retryable: false, message: 'no', details: {} }

describeBackend(
  { describe, test, expect },
  'grpc',
  async (behaviour, clock) => {
    const tool = await startGrpcTool((body, { signal }) => {
      if (behaviour === 'hang') return once(signal, 'abort').then(() => ({}))
      if (behaviour === 'fail') return { request_id: body.request_id, status: 'error', error: failure }
      return behaviour === 'flood' ? { flood: 'x'.repeat(2_000_000) } : ok(body)
    })
    const { begun, stopped } = tool
    const backend = createGrpcBackend(plain(tool.port, { maxBytes: 1_000_000 }), parts({ clock }))
    return { backend, begun, stopped, cleanup: async () => tool.close() }
  },
  showsRuntimeSemantics,
)

test('sends the whole request as JSON in a unary RPC and takes the output of the answer', async () => {
  verifies('contract:137', 'contract:138')
  const tool = await startGrpcTool(ok)
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

  const result = await open(plain(tool.port)).execute(
    { orderId: '7' },
    backendContext({ rules: { timeoutMs: 5_000, capabilities: ['data.read'] }, traceparent }),
  )

  expect(result).toEqual({ orderId: '7' })
  const [asked] = tool.requests
  expect(asked?.header.get('content-type')).toBe('application/grpc+json')
  expect(asked?.header.get('grpc-timeout')).toBe('5000m')
  expect(asked?.header.get('x-tool-contract-version')).toBe('v1')
  expect(asked?.body).toMatchObject({
    tool_contract_version: 'v1',
    request_id: KEY,
    tool: { name: 'orders_getItem', capabilities: ['data.read'] },
    input: { orderId: '7' },
    runtime: { mode: 'grpc', timeout_ms: 5_000 },
    trace: { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' },
  })
})

test.each([
  ['250', 250],
  ['0', 0],
  ['250.5', undefined],
  ['-1', undefined],
  ['Infinity', undefined],
  ['1e300', undefined],
])('the retry delay is a whole number of milliseconds: "%s" is read as %s', async (pushback, retryAfterMs) => {
  const tool = createServer().on('stream', (stream) => {
    const status = { 'grpc-status': '14', 'grpc-retry-pushback-ms': pushback }
    stream.resume()
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+json', ...status }, { endStream: true })
  })
  tool.listen(0, '127.0.0.1')
  await once(tool, 'listening')
  onTestFinished(() => void tool.close())

  const fault = await faultOf(open(plain((tool.address() as AddressInfo).port)).execute({}, backendContext()))

  expect(fault).toMatchObject({ kind: 'upstream', retryable: true })
  expect(fault.retryAfterMs).toBe(retryAfterMs)
})

/** docs/readings.md#a30. */
const MEANINGS: readonly [code: (typeof GRPC_CODES)[number], contract: string, retryable: boolean][] = [
  ['CANCELLED', 'canceled', false],
  ['UNKNOWN', 'execution_failed', true],
  ['INVALID_ARGUMENT', 'invalid_input', false],
  ['DEADLINE_EXCEEDED', 'timeout', true],
  ['NOT_FOUND', 'unsupported_tool', false],
  ['ALREADY_EXISTS', 'execution_failed', false],
  ['PERMISSION_DENIED', 'auth_forbidden', false],
  ['RESOURCE_EXHAUSTED', 'execution_failed', true],
  ['FAILED_PRECONDITION', 'execution_failed', false],
  ['ABORTED', 'execution_failed', true],
  ['OUT_OF_RANGE', 'invalid_input', false],
  ['UNIMPLEMENTED', 'unsupported_tool', false],
  ['INTERNAL', 'execution_failed', true],
  ['UNAVAILABLE', 'execution_failed', true],
  ['DATA_LOSS', 'execution_failed', true],
  ['UNAUTHENTICATED', 'auth_invalid', false],
]

test.each(MEANINGS)('the status %s is %s, retryable: %s', async (name, code, retryable) => {
  verifies('contract:139', ...(name === 'PERMISSION_DENIED' ? ['contract:098'] : []))
  if (name === 'UNAUTHENTICATED') verifies('contract:097')
  const tool = await startGrpcTool(() => {
    throw new ConnectError('grüße 100%', GRPC_CODES.indexOf(name) as Code)
  })

  const fault = await faultOf(open(plain(tool.port)).execute({}, backendContext()))

  expect({ code: codeOf(fault.kind), retryable: fault.retryable }).toEqual({ code, retryable })
  if (name === 'UNAUTHENTICATED') return
  expect(fault.details).toEqual({ grpc_status: name, grpc_code: GRPC_CODES.indexOf(name) })
  expect(fault.message).toContain('grüße 100%')
})

test('shows its credential as metadata, and a fresh one once when a remembered one is refused', async () => {
  const tool = await startGrpcTool((body, { requestHeader }) => {
    if (requestHeader.get('authorization') === 'Bearer new') return ok(body)
    throw new ConnectError('who are you', Code.Unauthenticated)
  })
  const { credential, refused } = tokens('old', 'new')

  await open(plain(tool.port)).execute({}, backendContext({ credential }))

  expect(refused).toEqual(['old'])
  expect(tool.requests.map(({ header }) => header.get('authorization'))).toEqual(['Bearer old', 'Bearer new'])
})

test('many calls share one connection, and a lost connection is replaced', async () => {
  const tool = await startGrpcTool(ok)
  const backend = open(plain(tool.port))
  const call = () => backend.execute({}, backendContext())

  await Promise.all([call(), call(), call()])
  expect(tool.connections).toBe(1)
  tool.drop()
  // The first call may arrive while the connection is being closed. The next call must not fail because of it.
  await Promise.resolve(call()).catch(() => undefined)
  await call()

  expect(tool.connections).toBe(2)
})

test('an answer for another request is refused', async () => {
  const tool = await startGrpcTool(() => ok({ request_id: 'another', input: {} }))

  const fault = await faultOf(open(plain(tool.port)).execute({}, backendContext()))

  expect(fault).toMatchObject({ kind: 'upstream', retryable: false })
})

test('a tool that closes during a call, is unreachable, or does not speak gRPC is a retryable failure', async () => {
  const closing = createSocketServer((socket) => socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1')
  await once(closing, 'listening')
  const { port } = closing.address() as AddressInfo
  onTestFinished(() => void closing.close())
  const web = createServer((_request, response) => response.writeHead(502).end('<html>')).listen(0, '127.0.0.1')
  await once(web, 'listening')
  onTestFinished(() => void web.close())

  const closed = await faultOf(open(plain(port)).execute({}, backendContext()))
  const absent = await faultOf(open(plain(1)).execute({}, backendContext()))
  const html = await faultOf(open(plain((web.address() as AddressInfo).port)).execute({}, backendContext()))

  expect(closed).toMatchObject({ kind: 'upstream', retryable: true })
  expect(absent).toMatchObject({ kind: 'upstream', retryable: true })
  expect(html).toMatchObject({ kind: 'upstream', retryable: true, details: { grpc_status: 'UNAVAILABLE' } })
})

test('speaks TLS, and only with a certificate that it trusts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const naming = ['-subj', '/CN=tools.test', '-addext', 'subjectAltName=DNS:tools.test']
  execFileSync('openssl', [...request, ...naming, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const tool = await startGrpcTool(ok, { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') })
  const spec = { kind: 'grpc', endpoint: `https://tools.test:${tool.port}` }

  const trusted = await open({ ...spec, ca: 'cert.pem' }, { folder }).execute({ a: 1 }, backendContext())
  const untrusted = await faultOf(open(spec).execute({}, backendContext()))

  expect(trusted).toEqual({ a: 1 })
  expect(untrusted).toMatchObject({ kind: 'upstream', message: expect.stringContaining('cannot be reached') })
})

test('goes nowhere that the rules about addresses do not allow', async () => {
  const asked: unknown[] = []
  const lookup: BackendParts['lookup'] = async (...what) => {
    asked.push(what)
    throw new Fault('upstream', 'Not there.', { code: 'TARGET_REFUSED', retryable: false })
  }
  const spec = { kind: 'grpc', endpoint: 'https://169.254.169.254' }

  const fault = await faultOf(open(spec, { lookup }).execute({}, backendContext()))

  expect(fault.code).toBe('TARGET_REFUSED')
  expect(asked).toEqual([['169.254.169.254', false]])
})

test.each([
  [{ endpoint: 'http://tools.test:1' }, 'backend.plaintext'],
  [{ endpoint: 'https://tools.test', plaintext: true }, 'backend.plaintext'],
  [{ endpoint: 'https://tools.test/path' }, 'backend.endpoint'],
  [{ endpoint: 'https://tools.test', headers: { 'grpc-timeout': '1S' } }, 'backend.headers.grpc-timeout'],
  [{ endpoint: 'https://tools.test', ca: 'nowhere.pem' }, 'backend.ca'],
  [{ endpoint: 'https://tools.test', retries: 3 }, 'backend.retries'],
])('a declaration such as %j is refused, and the message names %s', (settings, field) => {
  expect(() => createGrpcBackend({ kind: 'grpc', ...settings }, parts())).toThrow(field)
})
