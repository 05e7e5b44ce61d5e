/**
 * The limit for frames over raw QUIC: the library @currentspace/http3 alone. The frames of a turn are gathered into one
 * write by hand: the library sends every write separately, also of a corked stream.
 */
import { loadQuicLibrary, type QuicSession } from '../../src/carriers/quic/library.ts'
import { quicSettings } from '../../src/carriers/quic/settings.ts'
import { RECORD } from '../../src/wire/frames/records.ts'
import { type Contender, requireTls } from './contender.ts'
import { FRAME_BYTES } from './frames.ts'

const HEAD_BYTES = 5
const FRAMES_A_TURN = 64

export const start: Contender = async ({ tls, framesAWrite = FRAMES_A_TURN }) => {
  const server = loadQuicLibrary().createQuicServer({ ...quicSettings(requireTls(tls), {}), alpn: ['callplane/1'] })
  server.on('session', (session: QuicSession) => {
    session.on('error', () => undefined)
    session.on('stream', (request) => {
      request.on('error', () => undefined).resume()
      const stream = session.openStream()
      stream.on('error', () => undefined).resume()
      const send = () => {
        if (stream.destroyed) return
        for (let sent = 0; sent < FRAMES_A_TURN; sent += framesAWrite) stream.write(gather(framesAWrite))
        if (stream.writableNeedDrain) stream.once('drain', send)
        else setImmediate(send)
      }
      send()
    })
  })
  const { port } = await server.listen(0, '127.0.0.1')
  return { port, close: () => server.close() }
}

function gather(frames: number): Buffer {
  const records = Buffer.allocUnsafe(frames * (HEAD_BYTES + FRAME_BYTES.length))
  let at = 0
  for (let n = 0; n < frames; n++) {
    at = records.writeUInt8(RECORD.frame, at)
    at = records.writeUInt32BE(FRAME_BYTES.length, at)
    records.set(FRAME_BYTES, at)
    at += FRAME_BYTES.length
  }
  return records
}
