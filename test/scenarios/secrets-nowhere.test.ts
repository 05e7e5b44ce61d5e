/**
 * Every profile with a known secret, from every source of secrets, through tools that return what they received in
 * various encodings. Afterwards the test searches everything that the server wrote and sent for the secrets.
 */
import { createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Code, ConnectError } from '@connectrpc/connect'
import { type HandlerContext, type OperationDefinition, operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { AuthDeclaration } from '../../src/core/operation/credential.ts'
import { type Asked, openTool, requestIn } from '../backends/tool-server.ts'
import { runCommand } from '../cli/streams.ts'
import { startGrpcTool } from '../protocols/contract/peer.ts'
import { verifies } from '../requirements.ts'
import { contentsOf, expectNowhere, formsOf, registerTraceSdk } from './secret-search.ts'
import { type Answered, startSite, temporaryFolder } from './server.ts'

// Eighty-five calls, some with retries, and a program that is started for some of them.
vi.setConfig({ testTimeout: 60_000 })

/** With characters that every encoding writes in its own way. */
const BEARER = 'bearer?token>+/~"and\\more'
const API_KEY = 'api-key/with+signs=and%more'
const PASSWORD = 'pässword: with "quotes" & more'
const CLIENT_SECRET = 'client secret/+?&=ö'
const ACCESS_TOKEN = 'access.token/with+signs=='
const PAIR = `ann:${PASSWORD}`
const SIGNING = 'signing/secret+"of a tool"'

const SECRETS = [BEARER, API_KEY, PASSWORD, CLIENT_SECRET, ACCESS_TOKEN, PAIR, SIGNING]

/** The response of a careless tool: the credential that it received, also decoded. */
function echo({ headers }: Pick<Asked, 'headers'>): string {
  const { authorization = '', 'x-api-key': key = '' } = headers
  const shown = authorization.replace(/^\w+ /, '') || String(key)
  const meant = authorization.startsWith('Basic') ? Buffer.from(shown, 'base64').toString() : shown
  return [
    authorization,
    ...formsOf(shown),
    ...formsOf(meant),
    `Bearer ${meant}`,
    `https://x.example/?k=${formsOf(meant)[4]}`,
  ].join(' | ')
}

const MODES: Record<string, readonly string[]> = {
  http: ['ok', 'fails', 'refuses', 'breaks'],
  external: ['ok', 'fails', 'refuses', 'breaks'],
  grpc: ['ok', 'fails', 'refuses', 'breaks'],
  // Its answers are fetched.
  webhook: ['ok', 'fails'],
}

async function openCarelessTool() {
  return openTool((asked, response) => {
    const said = echo(asked)
    const [, kind, mode, polled] = asked.path.split('/')
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'Content-Type': 'application/json', 'X-Said': 'nothing' }).end(JSON.stringify(body))
    const request_id = kind === 'http' ? undefined : (polled ?? requestIn(asked).request_id)
    if (kind === 'webhook' && polled === undefined) response.writeHead(202).end(said)
    else if (mode === 'ok' && kind === 'http') response.end(said)
    else if (mode === 'ok') json(200, { request_id, status: 'ok', output: { said, [said]: [said] } })
    else if (mode === 'fails') {
      const error = { code: 'execution_failed', reason: 'r', retryable: true, message: said, details: { said } }
      json(200, { request_id, status: 'error', error })
    } else if (mode === 'refuses') response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(said)
    else response.writeHead(500).end(said)
  })
}

function openCarelessGrpcTool() {
  return startGrpcTool(({ request_id, tool }, { requestHeader }) => {
    const said = echo({ headers: Object.fromEntries(requestHeader) })
    if (tool.name === 'ok') return { request_id, status: 'ok', output: { said, [said]: [said] } }
    if (tool.name !== 'fails') {
      throw new ConnectError(said, tool.name === 'refuses' ? Code.Unauthenticated : Code.Internal, {
        'x-said': 'nothing',
      })
    }
    const error = { code: 'execution_failed', reason: 'r', retryable: true, message: said, details: { said } }
    return { request_id, status: 'error', error }
  })
}

/** One secret in each kind of place. */
async function placeSecrets(data: string) {
  const folder = temporaryFolder()
  vi.stubEnv('CALLPLANE_SECRET_TOKEN', BEARER)
  vi.stubEnv('CALLPLANE_SECRET_SIGNING', SIGNING)
  onTestFinished(() => void vi.unstubAllEnvs())
  writeFileSync(join(folder, 'api-key'), `${API_KEY}\n`)
  mkdirSync(join(folder, 'crm'))
  writeFileSync(join(folder, 'crm', 'client_id'), 'me')
  writeFileSync(join(folder, 'crm', 'client_secret'), CLIENT_SECRET)
  await runCommand(['secrets', 'set', 'pair', '--data', data], { stdin: PAIR })
  const script = `if (process.argv.at(-1) === 'from-command') process.stdout.write(${JSON.stringify(BEARER)})`
  return [
    { kind: 'env' },
    { kind: 'files', folder },
    { kind: 'store' },
    { kind: 'command', command: [process.execPath, '-e', script] },
  ] as const
}

/** Gives a token, or refuses and repeats what it was shown. */
async function openTokenEndpoint() {
  return openTool((asked, response) => {
    const refused = asked.path === '/refusing'
    const body = { access_token: ACCESS_TOKEN, expires_in: 3600, ...(refused && { error: 'invalid_client' }) }
    const said = `${asked.headers.authorization} ${asked.body} ${formsOf(CLIENT_SECRET).join(' ')}`
    response.writeHead(refused ? 401 : 200).end(JSON.stringify({ ...body, error_description: said }))
  })
}

const oauth = { profile: 'oauth2_client_credentials', secretRef: 'crm' } as const

/** By name, every way to show a secret, from every place. */
const profilesWith = (tokenURL: string): Record<string, AuthDeclaration> => ({
  Bearer: { secretRef: 'token' },
  Command: { secretRef: 'from-command' },
  Key: { profile: 'api_key_header', secretRef: 'api-key', headerName: 'X-Api-Key' },
  Basic: { profile: 'basic', secretRef: 'pair' },
  OAuth: { ...oauth, tokenURL },
})

/** Keeps what a tool said as an object. */
const keep = operation('v1:files.keep', {
  model: 'async',
  run: async (_args: unknown, ctx: HandlerContext) =>
    ctx.object(JSON.stringify(await ctx.call('v1:http.okBearer', {})), { mimeType: 'application/json' }),
})

test('no secret is in a reply, a log line, a span, the database or the objects, in any form', async () => {
  verifies('contract:106', 'contract:107', 'contract:108', 'contract:109')
  const spans = registerTraceSdk()
  const data = temporaryFolder()
  const secrets = await placeSecrets(data)
  const tool = await openCarelessTool()
  const grpcTool = await openCarelessGrpcTool()
  const endpoint = await openTokenEndpoint()
  const profiles = {
    ...profilesWith(`${endpoint.url}/token`),
    Unknown: { ...oauth, tokenURL: `${endpoint.url}/refusing` },
  }
  const declared = Object.entries(profiles).flatMap(([profile, auth]) =>
    Object.entries(MODES).flatMap(([kind, modes]) =>
      modes.map((mode) =>
        operation(`v1:${kind}.${mode}${profile}`, {
          backend: {
            kind,
            allowPrivate: true,
            ...(kind === 'grpc'
              ? { endpoint: `http://127.0.0.1:${grpcTool.port}`, plaintext: true, tool: mode }
              : { endpoint: `${tool.url}/${kind}/${mode}` }),
            ...(kind === 'webhook' && { pollMs: 10 }),
          },
          auth,
          model: mode === 'fails' || kind === 'webhook' ? 'async' : 'sync',
          sideEffecting: false,
          ttlSeconds: 3600,
          retry: { attempts: 2, backoffMs: 1 },
        }),
      ),
    ),
  )
  const operations: OperationDefinition[] = [...declared, keep]
  const lines: string[] = []
  const site = await startSite({
    operations,
    data,
    secrets,
    tokenEndpoints: {
      [`${endpoint.url}/token`]: { allowPrivate: true },
      [`${endpoint.url}/refusing`]: { allowPrivate: true, clientAuth: 'post' },
    },
    log: 'debug',
    logTo: { write: (line) => lines.push(line) },
    requestLog: true,
  })

  const replies: Answered[] = []
  for (const { name } of operations) {
    const accepted = await site.call(name, { hello: 'world' })
    replies.push(accepted, await site.ended(accepted.body.requestId))
  }
  await site.close()

  // The secrets did go out, and came back: else nothing would be proven.
  const shown = tool.asked.map(({ headers }) => headers.authorization ?? String(headers['x-api-key']))
  const pair = Buffer.from(PAIR).toString('base64')
  const all = new Set([`Bearer ${BEARER}`, API_KEY, `Basic ${pair}`, `Bearer ${ACCESS_TOKEN}`])
  expect(new Set(shown)).toEqual(all)
  expect(
    new Set(grpcTool.requests.map(({ header }) => header.get('authorization') ?? header.get('x-api-key'))),
  ).toEqual(all)
  expect(replies.filter(({ body }) => body.state === 'complete').length).toBeGreaterThan(10)
  expect(JSON.stringify(replies)).toContain('[redacted]')
  expect(lines.length).toBeGreaterThan(operations.length)
  expect(spans().length).toBeGreaterThan(operations.length)
  const written = [
    ...replies.map(({ body, headers }) => ({ name: 'reply', content: JSON.stringify([body, ...headers]) })),
    ...lines.map((line) => ({ name: 'log', content: line })),
    ...spans().map((span) => ({ name: 'span', content: JSON.stringify(span) })),
    ...contentsOf(data),
  ]
  expect(written.map(({ name }) => name)).toEqual(expect.arrayContaining(['reply', 'log', 'span', 'callplane.db']))
  const objects = written.filter(({ name }) => name.startsWith('objects/'))
  expect(objects.some(({ content }) => content.includes('[redacted]'))).toBe(true)
  expectNowhere(SECRETS, written)
})

test('nor in an answer that a tool delivers, to a server that has not shown it anything', async () => {
  verifies('contract:106', 'contract:107', 'contract:145')
  const data = temporaryFolder()
  const secrets = await placeSecrets(data)
  const tool = await openCarelessTool()
  const endpoint = await openTokenEndpoint()
  const operations = Object.entries(profilesWith(`${endpoint.url}/token`)).map(([profile, auth]) => {
    const there = { endpoint: `${tool.url}/webhook/${profile}`, allowPrivate: true, pollMs: 3_600_000 }
    const backend = { kind: 'webhook', ...there, callback: { secretRef: 'signing' } }
    return operation(`v1:push.${profile}`, { backend, auth, model: 'async' })
  })
  const lines: string[] = []
  const options = {
    operations,
    data,
    secrets,
    tokenEndpoints: { [`${endpoint.url}/token`]: { allowPrivate: true } },
    log: 'debug' as const,
    logTo: { write: (line: string) => lines.push(line) },
  }
  const first = await startSite(options)
  const accepted: Answered[] = []
  for (const { name } of operations) accepted.push(await first.call(name))
  await vi.waitFor(() => expect(tool.asked).toHaveLength(operations.length))
  await first.close()
  const submitted = tool.asked.filter(({ method }) => method === 'POST')

  const second = await startSite(options)
  const replies: Answered[] = []
  for (const [index, asked] of submitted.entries()) {
    const { request_id } = requestIn(asked)
    const said = `${echo(asked)} | ${formsOf(SIGNING).join(' | ')}`
    const error = { code: 'execution_failed', reason: 'r', retryable: false, message: said, details: { said } }
    const answer = index === 0 ? { status: 'error', error } : { status: 'ok', output: { said, [said]: [said] } }
    const body = JSON.stringify({ request_id, ...answer })
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', SIGNING).update(`${timestamp}.${body}`).digest('hex')
    const headers = { 'X-Timestamp': timestamp, 'X-Signature': signature }
    const { status } = await second.request(`/v1/tool-callbacks/${request_id}`, { method: 'POST', headers, body })
    expect(status).toBe(202)
  }
  for (const { body } of accepted) replies.push(await second.ended(body.requestId))
  await second.close()

  expect(replies.map(({ body }) => body.state).sort()).toEqual([
    'complete',
    'complete',
    'complete',
    'complete',
    'error',
  ])
  for (const { body } of replies) expect(JSON.stringify(body)).toContain('[redacted]')
  expectNowhere(SECRETS, [
    ...[...accepted, ...replies].map(({ body }) => ({ name: 'reply', content: JSON.stringify(body) })),
    ...lines.map((line) => ({ name: 'log', content: line })),
    ...contentsOf(data),
  ])
})
