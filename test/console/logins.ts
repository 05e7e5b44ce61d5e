/** Logs in to the console of a server, as its page does. */
import type { Site } from '../scenarios/server.ts'

export interface Login {
  status: number
  body: {
    session: string
    expiresAt: string
    idleSeconds: number
    scopes: string[]
    mode: string
    error: { code: string; message: string }
  }
}

/** A text is sent as it is. */
export async function logIn(
  { request }: Pick<Site, 'request'>,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Login> {
  const response = await request('/console/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Login['body'] }
}

export async function logOut({ request }: Pick<Site, 'request'>, session: string): Promise<number> {
  return (await request('/console/session', { method: 'DELETE', headers: bearer(session) })).status
}

export function bearer(session: string): { Authorization: string } {
  return { Authorization: `Bearer ${session}` }
}

export async function codeOf({ server }: Pick<Site, 'server'>, options?: { readOnly?: boolean }): Promise<string> {
  return (await server.loginCode(options))?.code ?? ''
}
