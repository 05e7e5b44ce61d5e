/** The routes of the console's login. They use no cookie, so a page of another site has nothing to send along. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { hasScope, SCOPES } from '../../core/operation/scopes.ts'
import type { Answer, Exchange, Handle, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import type { ConsoleLogin, LoginRequest } from './login.ts'
import { CALLBACK, type OidcLogin } from './oidc-login.ts'

const SESSION = '/console/session'
const CODES = '/console/codes'
const OIDC = '/console/oidc'
/** A JWT in a body. */
const MAX_BODY_BYTES = 32 * 1024

export function createLoginRoutes(
  login: ConsoleLogin,
  identify: (exchange: Exchange) => Identify,
  refuse: Refuse,
): Route[] {
  const { oidc } = login
  return [
    {
      path: SESSION,
      refuse,
      methods: {
        GET: () => json(200, { ways: login.ways, ...(oidc && { oidc: { name: oidc.name } }) }),
        POST: ownPage(async (exchange) => {
          const created = await login.logIn(parseLogin(await readObject(exchange)))
          return json(201, { ...created, scopes: [...created.scopes] })
        }),
        DELETE: ownPage(async (exchange) => {
          if (await login.logOut((name) => exchange.header(name))) return { status: 204, headers: HEADERS }
          throw new Fault('unauthenticated', 'Send the session that should end, as a bearer token.')
        }),
      },
    },
    {
      path: CODES,
      refuse,
      methods: {
        POST: ownPage(async (exchange) => {
          await requireAdmin(identify(exchange))
          const { readOnly = false } = await readObject(exchange)
          if (typeof readOnly !== 'boolean') throw malformed('"readOnly" must be true or false.')
          return json(201, { ...(await login.createCode(readOnly)) })
        }),
      },
    },
    ...(oidc ? oidcRoutes(oidc, refuse) : []),
  ]
}

function oidcRoutes(oidc: OidcLogin, refuse: Refuse): Route[] {
  return [
    {
      path: OIDC,
      refuse,
      methods: {
        POST: ownPage(async (exchange) => {
          const { returnTo = '', readOnly = false } = await readObject(exchange)
          if (typeof returnTo !== 'string' || typeof readOnly !== 'boolean')
            throw malformed('"returnTo" must be a text and "readOnly" true or false.')
          return json(200, await oidc.begin(exchange.origin, returnTo, readOnly))
        }),
      },
    },
    {
      path: CALLBACK,
      refuse,
      methods: {
        // A relative address: the person stays on this server, below the same mount path.
        GET: async (exchange) => ({
          status: 303,
          headers: { ...HEADERS, Location: `../${await oidc.complete(exchange.query)}` },
        }),
      },
    },
  ]
}

const HEADERS = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff' }

function json(status: number, body: JsonObject): Answer {
  return { status, headers: { ...HEADERS, 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

/**
 * Only the server's own page, or a client that is no browser. The origins that `cors` names may call operations, but
 * they may not log people in.
 */
function ownPage(handle: Handle): Handle {
  return (exchange, params) => {
    const origin = exchange.header('origin')
    const site = exchange.header('sec-fetch-site')
    const isForeign = origin !== undefined && !isOwnOrigin(origin, exchange)
    if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none'))
      throw new Fault('forbidden', "Only the server's own page can log in. Open the console at this server.", {
        code: 'CROSS_SITE',
      })
    return handle(exchange, params)
  }
}

/** The scheme is not compared: behind a proxy that terminates TLS, it differs from the browser's. */
function isOwnOrigin(origin: string, exchange: Exchange): boolean {
  const host = hostOf(origin)
  return host !== undefined && (host === exchange.header('host')?.toLowerCase() || host === hostOf(exchange.origin))
}

function hostOf(address: string): string | undefined {
  return /^https?:\/\/([^/]+)/i.exec(address)?.[1]?.toLowerCase()
}

/** A form of another site cannot send this type without asking first. */
async function readObject(exchange: Exchange): Promise<JsonObject> {
  if (!/^application\/json\s*(?:;|$)/i.test(exchange.header('content-type') ?? ''))
    throw malformed('Send the body as application/json.')
  const body = parseJsonText(await exchange.text(MAX_BODY_BYTES))
  if (!isJsonObject(body)) throw malformed('The body must be a JSON object.')
  return body
}

const FIELDS = ['code', 'proof', 'token'] as const

function parseLogin(body: JsonObject): LoginRequest {
  const { readOnly, ...given } = body
  const wrong = Object.keys(given).find((name) => !FIELDS.some((field) => field === name))
  if (wrong !== undefined) throw malformed(`A login has no field "${wrong.slice(0, 50)}".`)
  if (FIELDS.some((field) => given[field] !== undefined && typeof given[field] !== 'string'))
    throw malformed('"code", "proof" and "token" are texts.')
  if ((given.code === undefined) === (given.token === undefined)) throw malformed('Send either "code" or "token".')
  if (readOnly !== undefined && typeof readOnly !== 'boolean') throw malformed('"readOnly" must be true or false.')
  return body as LoginRequest
}

function malformed(message: string): Fault {
  return new Fault('malformed', message)
}

async function requireAdmin(identify: Identify): Promise<void> {
  const caller = await identify()
  if (caller && hasScope(caller, SCOPES.admin)) return
  const message =
    'A login link needs the scope callplane:admin. "callplane login-link" finds the token on this machine.'
  throw new Fault(caller ? 'forbidden' : 'unauthenticated', message)
}
