/** Breaches of the registry and of authentication. */
import { type Breach, onAnswer, onEntry, onRegistry, onRequest } from './breach.ts'

const EVERY_ENTRY_HAS = [
  'argsSchema',
  'resultSchema',
  'sideEffecting',
  'idempotencyRequired',
  'executionModel',
  'maxSyncMs',
  'ttlSeconds',
  'authScopes',
  'cachingPolicy',
]

export const registryBreaches: readonly Breach[] = [
  onAnswer('operations have no path', ['later-path'], (served, { method, path }) => {
    if (method === 'POST' && path.startsWith('/ops/')) served.status = 404
  }),
  onAnswer('an op that is not the one of the path runs', ['later-path'], (served, { path, body }) => {
    if (path.startsWith('/ops/') && body.includes('"op"')) served.status = 200
  }),
  onRegistry('the hash is of another document', ['later-hash'], (document) => {
    document.operations.pop()
  }),
  onAnswer('the ETag is not the hash', ['later-hash'], ({ headers }) => {
    headers.etag = '"another"'
  }),
  onAnswer('errors have another status', ['later-errors'], (served, { path }) => {
    if (path !== '/.well-known/errors') return
    served.body = Buffer.from(served.body.toString().replaceAll('"httpStatus":400', '"httpStatus":404'))
  }),
  onRequest('the header with the key is ignored', ['later-key-header'], ({ headers }) => {
    delete headers['idempotency-key']
  }),
  ...EVERY_ENTRY_HAS.map((field) =>
    onEntry(`${field} is missing in one entry`, [`entry-${field}`], (entry) => {
      if (entry.op === (field === 'ttlSeconds' ? 'v1:Reports.Generate' : 'v1:Calculator.Sum')) delete entry[field]
    }),
  ),
  onEntry('schemas say nothing', ['schemas-describe'], (entry) => {
    Object.assign(entry, { argsSchema: {}, resultSchema: {} })
  }),
  onEntry('scopes are one text', ['entry-authScopes'], (entry) => {
    entry.authScopes = 'orders:read'
  }),
  onEntry('a name has no version', ['names-have-versions'], (entry) => {
    if (entry.op === 'v1:Doorbell.Ring') entry.op = 'Doorbell.Ring'
  }),
  onEntry('no sunset is given', ['deprecated-is-served', 'registry-contents'], (entry) => {
    delete entry.sunset
  }),
  onEntry('a sunset is a moment', ['deprecated-is-served'], (entry) => {
    if (entry.sunset) entry.sunset += 'T00:00:00Z'
  }),
  onEntry('no replacement is given', ['deprecated-is-served', 'registry-contents'], (entry) => {
    delete entry.replacement
  }),
  onEntry('every entry has a sunset', ['deprecation-fields-only-when-deprecated'], (entry) => {
    entry.sunset ??= '2099-12-31'
  }),
  onEntry('an async operation is declared sync', ['models-as-declared'], (entry) => {
    entry.executionModel = 'sync'
  }),
  onEntry('no operation is declared to have effects', ['effects-declared', 'commands-and-queries'], (entry) => {
    entry.sideEffecting = false
  }),
  onEntry('everything is declared cacheable', ['effects-declared', 'effects-are-not-cached'], (entry) => {
    entry.cachingPolicy = 'server'
  }),
  onEntry('chunked results are not declared', ['chunked-declared'], (entry) => {
    delete entry.chunked
  }),
  onEntry('attachments are not declared', ['media-declared'], (entry) => {
    delete entry.mediaSchema
  }),
  onEntry('the size of attachments is not declared', ['media-declared', 'media-size'], (entry) => {
    for (const slot of entry.mediaSchema ?? []) delete slot.maxBytes
  }),
  onRegistry(
    'the removed is listed',
    ['removed-is-not-listed', 'registry-lists-what-can-be-called'],
    ({ operations }) => {
      operations.push({ ...operations[0], op: 'v1:Greeter.Hello' })
    },
  ),
  onRegistry('callVersion is a number', ['registry-document'], (document) => {
    document.callVersion = 1
  }),
  onRegistry('operations are an object', ['registry-document'], (document) => {
    document.operations = Object.fromEntries(document.operations.map((entry: { op: string }) => [entry.op, entry]))
  }),
  onRegistry('an operation is listed twice', ['registry-document'], ({ operations }) => {
    operations.push(operations[0])
  }),
  onRegistry('the registry has a hash of itself', ['registry-without-hashes'], (document) => {
    document.registryHash = 'abc'
  }),
  onEntry('every entry has a hash of itself', ['registry-without-hashes'], (entry) => {
    entry.etag = 'abc'
  }),
  onEntry('a schema has a hash of itself', ['registry-without-hashes'], ({ argsSchema }) => {
    argsSchema['x-sha256'] = 'abc'
  }),
  onEntry('a hash has another name', ['registry-without-hashes'], (entry) => {
    entry.revision = 'd41d8cd98f00b204e9800998ecf8427e'
  }),
  onRegistry('an operation that can be called is not listed', ['registry-lists-what-can-be-called'], (document) => {
    document.operations = document.operations.filter(({ op }: { op: string }) => op !== 'v1:Doorbell.Ring')
  }),
  onEntry('a limit of nothing is declared', ['registry-contents'], (entry) => {
    entry.ttlSeconds = 0
  }),
  onEntry('no type of attachment is declared', ['media-declared'], (entry) => {
    for (const slot of entry.mediaSchema ?? []) slot.acceptedTypes = []
  }),
  onAnswer('the registry has no ETag', ['registry-caching'], (served) => {
    delete served.headers.etag
  }),
  onAnswer('the registry has no Cache-Control', ['registry-caching'], (served, { path }) => {
    if (path === '/.well-known/ops') delete served.headers['cache-control']
  }),
]

/** These need a server that requires a token. */
export function tokenBreaches(token: string, otherToken: string): readonly Breach[] {
  const authorization = `Bearer ${token}`
  const other = `Bearer ${otherToken}`
  const breaches = [
    onRequest(
      'nobody is asked who they are',
      ['auth-missing', 'auth-by-header-only', 'auth-for-the-outcome'],
      (asked) => {
        asked.headers.authorization ??= authorization
      },
    ),
    onRequest(
      'every caller is the same caller',
      ['calls-are-private', 'chunks-are-private', 'key-per-caller'],
      (asked) => {
        if (asked.headers.authorization === other) asked.headers.authorization = authorization
      },
    ),
    onRequest('any credential will do', ['auth-invalid'], (asked) => {
      if (asked.headers.authorization) asked.headers.authorization = authorization
    }),
    onAnswer('who is not known is 403', ['auth-missing', 'auth-invalid'], (served) => {
      if (served.status === 401) served.status = 403
    }),
    onRequest("the envelope's credential counts", ['auth-by-header-only'], (asked) => {
      if (asked.body.includes(token)) asked.headers.authorization = authorization
    }),
    onRequest('a redirect leads to where a token is needed', ['redirect-is-followable'], (asked) => {
      asked.path = asked.path.replace(/\?expires=.*/, '')
    }),
    onAnswer('what needs a token is redirected to', ['located-status'], (served, asked) => {
      if (asked.method === 'POST' && served.status === 202) served.status = 303
    }),
  ]
  return breaches.map((each) => ({ ...each, behindToken: true }))
}
