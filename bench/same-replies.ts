/**
 * Checks, before any measurement, that all contenders reply correctly, reply alike for one envelope, and reject wrong
 * arguments.
 */
import { fetchOnce } from './fetch-once.ts'
import type { Host } from './processes.ts'
import { type Addition, headersOf, WIRES, type Wire, type WireName } from './wires.ts'

export interface Asked {
  host: Host
  wire: WireName
  /** The contender whose reply is the reference: the limit that this one is compared with. */
  like: Asked | undefined
}

export async function sameReplies(asked: readonly Asked[]): Promise<void> {
  for (const { host, wire: wireName, like } of asked) {
    const wire: Wire = WIRES[wireName]
    const reply = await post(host, wire, { a: 1, b: 2 })
    const { status, body } = reply
    if (status !== 200 || !body.startsWith(wire.start(3, 'same')) || !body.endsWith(wire.end?.(3) ?? '')) {
      throw new Error(`${host.name} does not add: ${reply.text}`)
    }
    const refused = await post(host, wire, { a: 1, b: 'two' })
    if (refused.status < 400 && !refused.body.includes('"isError":true')) {
      throw new Error(`${host.name} does not refuse wrong arguments: ${refused.text}`)
    }
    if (wire.headers?.Authorization !== undefined) await requireToken(host, wire)
    if (like && sameEnvelope(wire, WIRES[like.wire])) {
      const model = await post(like.host, WIRES[like.wire], { a: 1, b: 2 })
      if (reply.text !== model.text) {
        throw new Error(`${host.name} does not reply like ${like.host.name}:\n${reply.text}\n${model.text}`)
      }
    }
  }
}

/** tRPC, oRPC and the MCP SDK each have their own reply format. */
function sameEnvelope(one: Wire, other: Wire): boolean {
  return one.start === other.start
}

async function requireToken(host: Host, wire: Wire): Promise<void> {
  const { headers: _, ...anonymous } = wire
  const { status, text } = await post(host, anonymous, { a: 1, b: 2 })
  if (status !== 401) throw new Error(`${host.name} lets callers in without a token: ${text}`)
}

const CHOSEN_BY_SERVER = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<="duration":)\d+/g

/**
 * The text leaves out the date, the order of headers, Fastify's `charset`, and the ids and times that the server chose.
 */
async function post({ port }: Host, wire: Wire, args: Addition) {
  const { status, headers, body } = await fetchOnce(port, wire.path, {
    headers: { ...headersOf(wire), Connection: 'keep-alive' },
    body: JSON.stringify(wire.body(args, 'same')),
  })
  const lines = Object.entries({ ...headers, 'content-length': lengthTold(headers['content-length'], body.length) })
    .filter(([header]) => header !== 'date')
    .map(([header, value]) => `${header}: ${value}`.replace('; charset=utf-8', ''))
  const said = body.toString()
  return { status, body: said, text: `${status} ${lines.sort().join('\n')}\n${said.replace(CHOSEN_BY_SERVER, '…')}` }
}

/** A duration with one more digit makes the body longer, so only the correctness of Content-Length is compared. */
function lengthTold(told: string | undefined, bytes: number): string {
  return told === String(bytes) ? 'right' : `${told}, but it is ${bytes}`
}
