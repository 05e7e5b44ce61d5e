/** The routes that providers redirect people to, and where callers poll the status of an authorization. */
import type { Answer, Refuse, Route } from '../../core/ports/exchange.ts'
import {
  type AuthorizationService,
  CALLBACK_PATH,
  type ChallengeStatus,
} from '../../security/consent/authorizations.ts'

export function createAuthorizationRoutes(authorizations: AuthorizationService, refuse: Refuse): Route[] {
  return [
    {
      path: CALLBACK_PATH,
      refuse,
      methods: {
        // The browser has no credential of ours: the unguessable state identifies the authorization.
        async GET(exchange) {
          return (await authorizations.complete(exchange.query)) ? COMPLETED : FAILED
        },
      },
    },
    {
      path: '/authorizations/{challenge}/status',
      // A malformed id belongs to no challenge.
      refuse: (exchange, why) =>
        why.kind === 'fault' && why.fault.code === 'INVALID_PATH' ? statusAnswer('failed') : refuse(exchange, why),
      methods: {
        GET: async (_exchange, { challenge = '' }) => statusAnswer(await authorizations.status(challenge)),
      },
    },
  ]
}

/** Always 200: the body has the status of the challenge. */
function statusAnswer(status: ChallengeStatus): Answer {
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ status }) }
}

const JSON_HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

/** The URL of this page contains a code, so no other site, cache or frame may get it. */
const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

const COMPLETED = page(200, 'Authorized', 'You can close this window.')
const FAILED = page(400, 'Not authorized', 'Nothing was authorized. Close this window and request a new link.')

function page(status: number, title: string, text: string): Answer {
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${text}</p>
</html>
`
  return { status, headers: PAGE_HEADERS, body }
}
