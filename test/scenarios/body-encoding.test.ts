/** Every protocol refuses a JSON body that is declared as compressed or as another charset. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { startSite } from './server.ts'

/** OpenCALL, OXP and OTC respond with 400 to an unreadable body; the others use the HTTP status. */
const PLACES: [path: string, body: object, status: number][] = [
  ['/call', { op: 'v1:notes.keep', args: {} }, 400],
  ['/tools/call', { tool_id: 'notes.keep' }, 400],
  ['/otc/tools/call', { request: { tool_id: 'notes.keep' } }, 400],
  ['/tools/notes_keep/call', {}, 415],
  ['/explorer/tools/notes_keep/validate', {}, 415],
  ['/tool-contract/v1/execute', { request_id: 'r1', tool: { name: 'notes_keep' }, input: {} }, 415],
  ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'notes_keep', arguments: {} } }, 415],
]

test.each(PLACES)('%s', async (path, body, status) => {
  let runs = 0
  const keep = operation('v1:notes.keep', { run: () => runs++ })
  const site = await startSite({ operations: [keep], rest: { allowExecute: true } })
  const send = async (headers: Record<string, string>) => {
    const own = { 'Content-Type': 'application/json', ...headers }
    const response = await site.request(path, { method: 'POST', headers: own, body: JSON.stringify(body) })
    return { status: response.status, text: await response.text() }
  }

  const zipped = await send({ 'Content-Encoding': 'gzip' })
  const latin = await send({ 'Content-Type': 'application/json; charset=iso-8859-1' })

  expect([zipped.status, latin.status]).toEqual([status, status])
  expect(zipped.text).toContain('send it without a Content-Encoding')
  expect(latin.text).toContain('encode it as UTF-8')
  expect(runs).toBe(0)
})
