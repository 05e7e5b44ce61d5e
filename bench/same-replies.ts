/** Before anything is measured: all contenders give the same bytes for the same call, and none accepts wrong arguments. */
import { ADD } from './contenders/add-schemas.ts'
import { fetchOnce } from './fetch-once.ts'
import type { Host } from './processes.ts'

export async function sameReplies(hosts: readonly Host[]): Promise<void> {
  let first: { name: string; reply: string } | undefined
  for (const { name, port } of hosts) {
    const reply = await post(port, { op: ADD, args: { a: 1, b: 2 }, ctx: { requestId: 'same-1' } })
    const refused = await post(port, { op: ADD, args: { a: 1, b: 'two' }, ctx: { requestId: 'same-2' } })
    if (!refused.startsWith('400 ')) throw new Error(`${name} does not refuse wrong arguments: ${refused}`)
    first ??= { name, reply }
    if (reply !== first.reply) {
      throw new Error(`${name} does not reply like ${first.name}:\n${reply}\n${first.reply}`)
    }
  }
}

/** Status, headers and body as one text. The date, the order of headers and Fastify's own `charset` do not count. */
async function post(port: number, envelope: unknown): Promise<string> {
  const { status, headers, body } = await fetchOnce(port, '/call', {
    headers: { 'Content-Type': 'application/json', Connection: 'keep-alive' },
    body: JSON.stringify(envelope),
  })
  const lines = Object.entries(headers)
    .filter(([header]) => header !== 'date')
    .map(([header, value]) => `${header}: ${value}`.replace('; charset=utf-8', ''))
  return `${status} ${lines.sort().join('\n')}\n${body}`
}
