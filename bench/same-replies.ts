/** Before anything is measured: all contenders give the same bytes for the same call, and none accepts wrong arguments. */
import { request } from 'node:http'
import type { Host } from './processes.ts'
import { ADD } from './contenders/add.ts'

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
function post(port: number, envelope: unknown): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/call', headers: { 'Content-Type': 'application/json', Connection: 'keep-alive' } }, async (response) => {
      const { date: _date, ...headers } = response.headers
      let body = ''
      for await (const chunk of response) body += chunk
      const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`.replace('; charset=utf-8', ''))
      resolve(`${response.statusCode} ${lines.sort().join('\n')}\n${body}`)
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(envelope))
  })
}
