/** A real OAuth server on loopback, and a person with a browser who logs in, consents or declines there. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { onTestFinished, vi } from 'vitest'

export const CLIENT = { id: 'callplane', secret: 'a secret: with % and +' }

export interface OAuthServer {
  readonly issuer: string
  /** Registers the client's redirect addresses. Until then the server sends no responses. */
  register(...redirectUris: string[]): void
  /** Every issued token, so that a test can search for leaks. */
  readonly issued: string[]
  /** Requests to the token endpoint. */
  readonly tokenRequests: string[]
  /** Revokes all access tokens. Refresh tokens stay valid. */
  revokeAccess(): Promise<void>
  /** The person revokes all grants. */
  revokeAll(): Promise<void>
  /** Returns the owner of the token; `undefined` if the token is not valid. */
  whose(accessToken: string): Promise<string | undefined>
  /** True to cut off every request. */
  down: boolean
}

export async function startOAuthServer({ accessTokenSeconds = 3600 } = {}): Promise<OAuthServer> {
  // The library warns about its built-in login pages, which these tests use on purpose.
  const silenced = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'info')].map((spy) => spy.mockImplementation(() => {}))
  onTestFinished(() => silenced.forEach((spy) => void spy.mockRestore()))
  let handle: ReturnType<Provider['callback']> | undefined
  let provider: Provider
  const issued: string[] = []
  const tokenRequests: string[] = []
  const grants = new Set<string>()
  const http = createServer((request, response) => {
    if (oauth.down) return void request.socket.destroy()
    if (request.url === '/token') request.on('data', (bytes) => tokenRequests.push(String(bytes)))
    if (handle) void handle(request, response)
    else response.writeHead(503).end()
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void http.close().closeAllConnections())
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`

  const oauth: OAuthServer = {
    issuer,
    issued,
    tokenRequests,
    down: false,
    register(...redirectUris) {
      provider = new Provider(issuer, {
        clients: [
          {
            client_id: CLIENT.id,
            client_secret: CLIENT.secret,
            redirect_uris: redirectUris,
            grant_types: ['authorization_code', 'refresh_token'],
          },
        ],
        scopes: ['openid', 'calendar.read', 'calendar.write'],
        findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
        issueRefreshToken: async () => true,
        rotateRefreshToken: true,
        ttl: { AccessToken: accessTokenSeconds, Interaction: 600, Session: 600, Grant: 86_400, RefreshToken: 86_400 },
        cookies: { keys: ['for tests only'] },
      })
      const remember = ({ jti, grantId = '' }: { jti: string; grantId?: string | undefined }) => {
        issued.push(jti)
        grants.add(grantId)
      }
      provider.on('access_token.saved', remember)
      provider.on('refresh_token.saved', remember)
      handle = provider.callback()
    },
    async revokeAccess() {
      for (const token of issued) await (await provider.AccessToken.find(token))?.destroy()
    },
    async revokeAll() {
      for (const grantId of grants) {
        await provider.AccessToken.revokeByGrantId(grantId)
        await provider.RefreshToken.revokeByGrantId(grantId)
      }
    },
    async whose(accessToken) {
      const response = await fetch(`${issuer}/me`, { headers: { Authorization: `Bearer ${accessToken}` } })
      return response.ok ? ((await response.json()) as { sub: string }).sub : undefined
    },
  }
  return oauth
}

export interface Visit {
  url: string
  response: Response
  text: string
}

/**
 * Opens the address, completes the pages, and returns the final address. `stopAt`: does not open addresses with this
 * prefix.
 */
export async function browse(address: string, { login = 'ada', declines = false, stopAt = '-' } = {}): Promise<Visit> {
  const cookies = new Map<string, string>()
  let url = new URL(address)
  let form: URLSearchParams | undefined
  for (let steps = 0; steps < 20; steps += 1) {
    if (url.href.startsWith(stopAt)) break
    const response = await fetch(url, {
      redirect: 'manual',
      method: form ? 'POST' : 'GET',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { body: form }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const text = await response.text()
    const location = response.headers.get('location')
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1]
    const cancel = /<a href="([^"]+\/abort)"/.exec(text)?.[1]
    form = undefined
    if (location !== null) url = new URL(location, url)
    else if (declines && cancel) url = new URL(cancel, url)
    else if (action !== undefined) {
      url = new URL(action, url)
      const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? ''
      form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login, password: 'any' }) })
    } else return { url: url.href, response, text }
  }
  return { url: url.href, response: Response.error(), text: '' }
}
