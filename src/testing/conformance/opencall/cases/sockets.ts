/** "WebSocket Binding": calls on one connection at `/call`. */
import { randomUUID } from 'node:crypto'
import { type JsonMembers, must, mustBeObject, mustBeText, mustEqual } from '../../assertions.ts'
import { mustFit } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { onSocket, type Socket } from '../sockets.ts'
import { needsKey, type OpenCallPart } from '../subject.ts'

const CONCURRENT = 3
/** More states than any call should have. */
const MAX_STATES = 200

export const socketCases = [
  defineCase(
    'socket-calls',
    'concurrent calls share a connection, and each response has the requestId of its call',
    [302, 303],
    async (server) => {
      const part = await server.part('sync')
      await onSocket(server.target, async (socket) => {
        const ids = Array.from({ length: CONCURRENT }, () => sendCall(socket, part))
        const missing = new Set(ids)
        while (missing.size > 0) {
          const envelope = await nextEnvelope(socket, `The response to ${[...missing].join(', ')}`)
          must(
            missing.delete(String(envelope.requestId)),
            `A response has the requestId ${String(envelope.requestId)}.`,
          )
          mustEqual(envelope.state, 'complete', `state of the response to ${part.op}`)
          if (envelope.location === undefined) mustFit(part, envelope.result)
        }
      })
    },
  ),

  defineCase(
    'socket-later-states',
    'the later states of an async call are sent on the connection',
    [302, 303],
    async (server) => {
      const part = await server.part('async')
      await onSocket(server.target, async (socket) => {
        const requestId = sendCall(socket, part)
        const states: unknown[] = []
        while (states.length < MAX_STATES) {
          const envelope = await nextEnvelope(
            socket,
            `The next state of a call that was ${states.join(', ') || 'sent'}`,
          )
          mustEqual(envelope.requestId, requestId, 'requestId')
          states.push(envelope.state)
          if (envelope.state === 'complete' || envelope.state === 'error') break
        }
        mustEqual(states.at(-1), 'complete', 'The last state')
      })
    },
    'should',
  ),

  defineCase(
    'socket-malformed',
    'a message that is no envelope gets an error envelope',
    [302, 308],
    async (server) => {
      for (const message of ['{', '[]', '{"op":7}']) {
        await onSocket(server.target, async (socket) => {
          socket.send(message)
          const envelope = await nextEnvelope(socket, `The response to the message ${message}`)
          mustEqual(envelope.state, 'error', `state of the response to the message ${message}`)
          const error = mustBeObject(envelope.error, 'error')
          mustBeText(error.code, 'error.code')
          mustBeText(error.message, 'error.message')
        })
      }
    },
    'should',
  ),
]

/** Returns the request id. */
function sendCall(socket: Socket, { op, args, entry }: OpenCallPart): string {
  const requestId = randomUUID()
  const ctx = { requestId, ...(needsKey(entry) && { idempotencyKey: randomUUID() }) }
  socket.send(JSON.stringify({ op, args, ctx }))
  return requestId
}

async function nextEnvelope(socket: Socket, what: string): Promise<JsonMembers> {
  const message = await socket.next(what)
  must(message !== undefined, `${what} did not come before the connection was closed.`)
  must(typeof message === 'string', `${what} is a binary message, although the call was text.`)
  let value: unknown
  try {
    value = JSON.parse(message)
  } catch {
    value = undefined
  }
  return mustBeObject(value, `${what} (${message.slice(0, 100)})`)
}
