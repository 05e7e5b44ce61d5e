/** Options that TypeScript would reject, passed from JavaScript: refused before anything is opened. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, createToken, operation, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import { temporaryFolder } from './server.ts'

const ping = operation('v1:net.ping', { run: () => 'pong' })
const token = { hash: createToken().hash, kind: 'bearer', subject: 'ada', scopes: [] }
const rules = { issuer: 'https://login.example', audience: 'tools', key: { secret: 'x'.repeat(32) } }

test.each<[what: string, options: object, advice: RegExp]>([
  ['an option', { atuh: {} }, /createServer has no option "atuh".*auth/],
  ['a limit', { limits: { callPerSecond: 1 } }, /limits has no option "callPerSecond".*callsPerSecond/],
  ['a size', { sizes: { uploadbytes: 1 } }, /sizes has no option/],
  ['a setting of the work', { work: { lease: 1 } }, /work has no option/],
  ['a setting of OpenCALL', { opencall: { strct: true } }, /opencall has no option/],
  ['a setting of OXP', { oxp: { status: 401 } }, /oxp has no option/],
  ['a setting of the Tool Execution API', { rest: { allowexecute: true } }, /rest has no option/],
  ['a kind of credential', { auth: { token: [] } }, /auth has no option "token".*tokens/],
  [
    'the expiry of a token',
    { auth: { tokens: [{ ...token, expires: '2027-01-01' }] } },
    /auth\.tokens\[0\].*expiresAt/,
  ],
  ['a rule for JWTs', { auth: { jwt: [{ ...rules, tenant: 'org' }] } }, /auth\.jwt\[0\].*tenantClaim/],
  [
    'a weight of nothing',
    { limits: { weights: { tenants: { acme: 0 } } } },
    /limits.weights.tenants\["acme"\] must be a whole/,
  ],
  ['a misspelt weight', { limits: { weights: { tenant: {} } } }, /limits.weights has no option "tenant"/],
  ['a value that is not an object', { limits: 5 }, /"limits" must be an object/],
  [
    'an issuer that could be taken for another',
    { auth: { jwt: [{ ...rules, issuer: 'a|b' }] } },
    /issuer must not contain/,
  ],
  ['the address of a key set', { auth: { jwt: [{ ...rules, key: { jwks: 'https://a.example' } }] } }, /jwksUrl/],
  ['a public address without scheme', { publicUrl: 'tools.example' }, /such as https:\/\/tools\.example\.com/],
  ['a public address of another kind', { publicUrl: 'ftp://tools.example' }, /publicUrl/],
  ['a public address with a query', { publicUrl: 'https://tools.example?x' }, /publicUrl/],
])('%s that is wrong is refused with advice', async (_, options, advice) => {
  const data = join(await temporaryFolder(), 'data')

  const refused = createServer({ operations: [ping], data, ...options } as ServerOptions)

  await expect(refused).rejects.toMatchObject({ kind: 'malformed', message: expect.stringMatching(advice) })
  expect(existsSync(data)).toBe(false)
})
