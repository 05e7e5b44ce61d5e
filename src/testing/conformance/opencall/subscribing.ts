/** Subscribes to a stream for a check, and ends it afterwards. */
import { randomUUID } from 'node:crypto'
import { type JsonMembers, must, mustBeObject, mustBeText } from '../assertions.ts'
import { NotApplicable } from '../case.ts'
import { expectStatus } from '../http.ts'
import { connect, type Socket } from './sockets.ts'
import type { Answered, OpenCallPart, Subject } from './subject.ts'

export interface Subscribed {
  part: OpenCallPart
  answer: Answered
  stream: JsonMembers
  ids: { requestId: string; sessionId: string }
  unsubscribe(): Promise<Answered>
}

/** `wish` is added to the arguments. */
export async function whileSubscribed(
  server: Subject,
  check: (subscribed: Subscribed) => Promise<void>,
  wish: (part: OpenCallPart) => JsonMembers = () => ({}),
): Promise<void> {
  const part = await server.part('stream')
  const ids = { requestId: randomUUID(), sessionId: randomUUID() }
  const answer = await expectStatus(202, server.invoke(part, { args: { ...part.args, ...wish(part) }, ctx: ids }))
  const end = async () => server.call({ op: await unsubscribeName(server), args: { requestId: ids.requestId } })
  try {
    const stream = mustBeObject(answer.envelope.stream, 'stream')
    await check({ part, answer, stream, ids, unsubscribe: end })
  } finally {
    await unsubscribe(server, ids.requestId)
  }
}

/** A stream may have ended already. The case about the operation reports a server that lacks it. */
export async function unsubscribe(server: Subject, requestId: string): Promise<void> {
  const op = await findUnsubscribe(server)
  if (op === undefined) return
  const headers = { 'content-type': 'application/json' }
  await server.send('/call', { method: 'POST', headers, body: JSON.stringify({ op, args: { requestId } }) })
}

async function findUnsubscribe(server: Subject): Promise<string | undefined> {
  const names = (await server.operations()).map(({ op }) => String(op))
  return names.find((name) => /[:.]unsubscribeFromStream$/i.test(name))
}

async function unsubscribeName(server: Subject): Promise<string> {
  const name = await findUnsubscribe(server)
  must(name !== undefined, 'The registry has streams, but no operation unsubscribeFromStream to end them.')
  return name
}

/** Wishes for WebSocket, and JSON if the stream has it. */
export function socketWish({ entry: { op, supportedTransports, supportedEncodings } }: OpenCallPart): JsonMembers {
  const has = (list: unknown, name: string) => Array.isArray(list) && list.includes(name)
  if (!has(supportedTransports, 'wss')) throw new NotApplicable(`${String(op)} does not support wss.`)
  return { transport: 'wss', ...(has(supportedEncodings, 'json') && { encoding: 'json' }) }
}

/**
 * Connects to the stream with the credential of the response. The specification does not say how to present a one-time
 * key, so it is sent as `Authorization` and as `ticket` in the query.
 */
export function connectTo(server: Subject, stream: JsonMembers): Promise<Socket | undefined> {
  const location = new URL(mustBeText(stream.location, 'stream.location'))
  if (stream.auth === undefined) {
    const { token } = server.target
    const isOurs = location.host === new URL(server.target.url).host
    return connect(location.href, token !== undefined && isOurs ? `Bearer ${token}` : undefined)
  }
  const { credentialType, credential } = mustBeObject(stream.auth, 'stream.auth')
  const key = mustBeText(credential, 'stream.auth.credential')
  if (credentialType === 'otk') location.searchParams.set('ticket', key)
  return connect(location.href, `${credentialType === 'otk' ? 'otk' : 'Bearer'} ${key}`)
}
