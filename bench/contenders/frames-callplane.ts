/**
 * Callplane's streams: bytes that are sent as they are, JSON that is validated, and streams that wait. Over WebSocket
 * and WebRTC, or over raw QUIC if there is a certificate.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createServer, jsonSchema, operation } from '../../src/index.ts'
import { freeUdpPort } from '../free-port.ts'
import type { Contender } from './contender.ts'
import { FRAME, FRAME_BYTES, FRAME_SCHEMA, PACE, type Reading } from './frames.ts'

const operations = [
  operation('v1:Frames.Bytes', {
    frame: jsonSchema<Uint8Array>({}),
    stream: { encodings: ['binary'], trusted: true },
    *run() {
      for (;;) yield FRAME_BYTES
    },
  }),
  operation('v1:Frames.Paced', {
    frame: jsonSchema<Uint8Array>({}),
    stream: { encodings: ['binary'], trusted: true },
    *run() {
      for (let n = 1; ; n++) yield (n % PACE.frames === 0 ? frameAfterPause() : FRAME_BYTES) as Buffer
    },
  }),
  operation('v1:Frames.Json', {
    frame: jsonSchema<Reading>(FRAME_SCHEMA),
    *run() {
      for (;;) yield FRAME
    },
  }),
  operation('v1:Frames.Idle', {
    frame: jsonSchema<Reading>(FRAME_SCHEMA),
    async *run(_args: unknown, { signal }) {
      yield FRAME
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  }),
]

async function frameAfterPause(): Promise<Buffer> {
  await pause(PACE.everyMs)
  return FRAME_BYTES
}

export const start: Contender = async ({ data, tls }) => {
  if (data === undefined) throw new Error('Give the callplane contender a data folder of its own.')
  const rawPort = tls && (await freeUdpPort())
  const server = await createServer({
    operations,
    data,
    log: 'error',
    limits: {
      streamsPerCaller: 100_000,
      framesPerSecond: 0,
      frameBytesPerSecond: 0,
      callsPerSecond: 100_000,
      callBurst: 100_000,
      openCallsPerCaller: 100_000,
    },
    ...(tls && rawPort ? { tls, quic: { port: 0, rawPort } } : { webrtc: true }),
  })
  const { port } = await server.listen({ port: 0 })
  return { port: rawPort ?? port, close: () => server.close(0) }
}
