/** The process that reads frames over WebSocket. */
import { fetchOnce } from '../fetch-once.ts'
import { callBody } from './call-body.ts'
import { answerReaders } from './reader.ts'
import { openReader } from './socket-reader.ts'

/** A frame of 100 bytes with its head. */
const WIRE_BYTES = 102

/** All readers share it, because nothing is kept. */
const buffer = new Uint8Array(256 * 1024)

answerReaders(async ({ port, operation, session, path = '/frames' }) => {
  const reader = openReader(port, operation === undefined ? path : await ticketPath(port, operation, session), buffer)
  await reader.opened
  return { frames: () => reader.bytes() / WIRE_BYTES, close: reader.close }
})

async function ticketPath(port: number, operation: string, session?: string): Promise<string> {
  const { body, headers } = callBody(operation, {}, session)
  const reply = await fetchOnce(port, '/call', { headers, body })
  const { stream } = JSON.parse(reply.body.toString())
  if (!stream) throw new Error(`The stream was not accepted: ${reply.body}`)
  return `${new URL(stream.location).pathname}?ticket=${stream.auth.credential}`
}
