/** The process that reads frames over raw QUIC streams. It compares every byte with the expected one. */
import { encodeRecord, RECORD } from '../../src/wire/frames/records.ts'
import { type ClientStream, connectRaw } from '../../test/carriers/quic/client.ts'
import { FRAME_BYTES } from '../contenders/frames.ts'
import { callBody } from './call-body.ts'
import { answerReaders } from './reader.ts'

const HEAD_BYTES = 5
const record = encodeRecord('frame', FRAME_BYTES)
/** Longer than any piece that arrives. */
const expected = Buffer.concat(Array.from({ length: 4_096 }, () => record))

answerReaders(async ({ port, operation, ca }) => {
  const client = await connectRaw(port, undefined, ca)
  const opened = Promise.withResolvers<() => number>()
  client.once('stream', (stream: ClientStream) => {
    const frames = countFrames(stream)
    stream.once('data', () => opened.resolve(frames))
  })
  const request = client.openStream()
  request.on('error', opened.reject)
  request.on('data', (reply: Buffer) => {
    if (reply.includes('"error"')) opened.reject(new Error(`The stream was not accepted: ${reply}`))
  })
  // The bare server sends frames to everyone who opens a stream.
  request.write(encodeRecord('envelope', operation === undefined ? '{}' : callBody(operation, {}).body))
  return { frames: await opened.promise, close: () => client.close() }
})

function countFrames(stream: ClientStream): () => number {
  /** Bytes of the first record, which says which stream it is, that have not arrived. `undefined`: not known yet. */
  let ahead: number | undefined
  let head = Buffer.alloc(0)
  let bytes = 0
  let wrongAt: number | undefined
  stream.on('error', () => undefined)
  stream.on('data', (piece: Buffer) => {
    let rest = piece
    if (ahead === undefined) {
      head = Buffer.concat([head, piece])
      if (head.length < HEAD_BYTES) return
      ahead = head[0] === RECORD.envelope ? HEAD_BYTES + head.readUInt32BE(1) : 0
      rest = head
    }
    const skipped = Math.min(ahead, rest.length)
    ahead -= skipped
    rest = rest.subarray(skipped)
    const at = bytes % record.length
    if (!rest.equals(expected.subarray(at, at + rest.length))) wrongAt ??= bytes
    bytes += rest.length
  })
  return () => {
    if (wrongAt !== undefined) throw new Error(`The frames are wrong after ${wrongAt} bytes.`)
    return bytes / record.length
  }
}
