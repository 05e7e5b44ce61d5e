/** Routes and responses for the carrier suites. */
import type { Answer, Handle, Refuse, Route } from '../../../core/ports/exchange.ts'

export const text = (body: string, status = 200): Answer => ({
  status,
  headers: { 'Content-Type': 'text/plain' },
  body,
})

/** Responds with the request's body, up to 1,000 bytes. */
export const echo: Handle = async (exchange) => text(await exchange.text(1_000))

/** The stories check only the code of a refusal. */
export const refusePlainly: Refuse = (_exchange, why) => {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' }
  if (why.kind === 'path') return { status: 404, headers, body: '{"code":"PATH"}' }
  if (why.kind === 'method') {
    return { status: 405, headers: { ...headers, Allow: why.allow.join(', ') }, body: '{"code":"METHOD"}' }
  }
  const { kind, code, message } = why.fault
  const status = kind === 'internal' ? 500 : kind === 'forbidden' ? 403 : 400
  return { status, headers, body: JSON.stringify({ code, message }) }
}

export function route(path: string, methods: Route['methods']): Route {
  return { path, methods, refuse: refusePlainly }
}

export async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { code: string }).code
}
