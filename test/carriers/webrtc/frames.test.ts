/** Frames over WebRTC pass the suite that all frame channels must pass. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { loadWerift, WebRtcCarrier } from '../../../src/carriers/webrtc/index.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Log } from '../../../src/core/ports/runtime.ts'
import { encodeStreamEnd } from '../../../src/protocols/opencall/index.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'
import { describeFrames } from '../../../src/testing/suites/frames/frames.ts'
import { Reader } from './reader.ts'
import { guardUdp } from './udp-guard.ts'

vi.setConfig({ testTimeout: 30_000 })
guardUdp()

const log: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log }

describeFrames({ describe, test, expect }, 'a WebRTC data channel', async () => {
  const clock = createManualClock()
  const carrier = new WebRtcCarrier({
    library: await loadWerift(),
    env: { clock, log, newSecret: randomUUID },
    origin: () => 'http://127.0.0.1:4747',
    maxConnections: 10,
    encodeEnd: encodeStreamEnd,
  })
  const reader = new Reader()
  const place = await carrier.place({
    id: 'id',
    requestId: 'request',
    sessionId: 'session',
    operation: 'v1:a.b',
    encoding: 'json',
    origin: 'http://127.0.0.1:4747',
    sealed: false,
    claim: async () => true,
    owner: 'main/ada',
    details: await reader.offer(),
  })
  await reader.connect(place.details?.webrtc as JsonObject & { sdp: string; type: 'answer' })
  const channel = await place.open?.()
  if (!channel) throw new Error('The place cannot be opened.')
  return {
    channel,
    reader: {
      next: () => reader.next(),
      pause: () => reader.relay?.pause(),
      resume: () => reader.relay?.resume(),
      leave() {
        reader.relay?.close()
        clock.advance(40_000)
      },
      ended: () => reader.end(),
    },
    async cleanup() {
      const closing = carrier.close(0)
      clock.advance(10_000)
      await closing
      await reader.close()
    },
  }
})
