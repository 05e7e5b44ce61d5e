/** Where people come back from a provider, and where callers ask whether they have. */
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
        // A browser comes here without a credential of ours: the unguessable state says whose authorization it is.
        async GET(exchange) {
          return (await authorizations.complete(exchange.query)) ? COMPLETED : FAILED
        },
      },
    },
    {
      path: '/authorizations/{challenge}/status',
      // An id that cannot even be read is the id of no challenge.
      refuse: (exchange, why) =>
        why.kind === 'fault' && why.fault.code === 'INVALID_PATH' ? statusAnswer('failed') : refuse(exchange, why),
      methods: {
        GET: async (_exchange, { challenge = '' }) => statusAnswer(await authorizations.status(challenge)),
      },
    },
  ]
}

/** Always 200: whoever asks is told how it stands, not how we are. */
function statusAnswer(status: ChallengeStatus): Answer {
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ status }) }
}

const JSON_HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

/** The address of this page holds a code: it goes to no other site, into no cache and into no frame. */
const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

const COMPLETED = page(200, 'Authorized', 'You can close this window.')
const FAILED = page(400, 'Not authorized', 'Nothing was authorized. Close this window, and ask for a new link.')

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
