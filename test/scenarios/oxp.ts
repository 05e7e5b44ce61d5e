/** A client of `/tools` and `/tools/call` for tests. It validates every response against the published schemas. */
import { expect } from 'vitest'
import { type Dialect, expectValidReply } from '../protocols/oxp/replies.ts'

export interface OxpAnswer {
  status: number
  headers: Headers
  /** The text as received. */
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read any members they expect.
  body: any
}

export interface OxpClient {
  /** Sends the body; a string is sent unchanged. */
  send(body: unknown, headers?: Record<string, string>, path?: string): Promise<OxpAnswer>
  /** Sends one call in each of the three dialects, with its members where the dialect has them. */
  call(tool: string, input?: unknown, more?: object, headers?: Record<string, string>): Promise<OxpAnswer>
  list(path?: string, headers?: Record<string, string>): Promise<OxpAnswer>
}

export function oxpClient(url: string): OxpClient {
  const send: OxpClient['send'] = async (body, headers = {}, path = '/tools/call') => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return answered(response, path)
  }
  return {
    send,
    call: (tool, input, more = {}, headers = {}) =>
      send({ tool_id: tool, ...(input !== undefined && { input }), ...more }, headers),
    list: async (path = '/tools', headers = {}) => answered(await fetch(url + path, { headers }), path),
  }
}

async function answered(response: Response, path: string): Promise<OxpAnswer> {
  const { status, headers } = response
  const text = await response.text()
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('oxp-version')).toBe('1.0')
  const body = JSON.parse(text)
  const dialect = dialectOf(body)
  expectValidReply(dialect, path.replace(/^\/otc/, ''), status, body)
  return { status, headers, text, body: dialect !== 'flat' && status === 200 && 'result' in body ? body.result : body }
}

function dialectOf(body: { $schema?: string }): Dialect {
  if (body.$schema === undefined) return 'flat'
  return body.$schema === 'otc://1.0' ? 'otc' : 'wrapped'
}
