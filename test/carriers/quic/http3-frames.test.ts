/** The frames of a stream as the body of a response over HTTP/3 pass the suite for frames. */
import { describe, expect, test } from 'vitest'
import { createHttp3Carrier, loadQuicLibrary } from '../../../src/carriers/quic/index.ts'
import { FrameBody } from '../../../src/protocols/opencall/http/frame-body.ts'
import { frameRecords } from '../../../src/protocols/opencall/http/frame-records.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { refusePlainly } from '../../../src/testing/suites/carrier/content.ts'
import { describeFrames } from '../../../src/testing/suites/frames/frames.ts'
import { describeWith, quicLibrary } from '../../engines/engines.ts'
import { certificate, connectHttp3 } from './client.ts'
import { recordsOf } from './records.ts'
import { startRelay } from './relay.ts'
import { textOf } from './site.ts'

const STREAM = { id: 'i-1', requestId: 'r-1', encoding: 'json', sealed: false }

describeWith(quicLibrary, 'HTTP/3 frames', () => {
  describeFrames({ describe, test, expect }, 'records in a response', async () => {
    const opened = Promise.withResolvers<FrameBody<Uint8Array>>()
    const route = {
      path: '/frames',
      refuse: refusePlainly,
      methods: {
        GET(exchange: { signal: AbortSignal }) {
          const body = new FrameBody(frameRecords(STREAM), exchange.signal)
          opened.resolve(body)
          return { status: 200, headers: {}, body: body.read(systemClock) }
        },
      },
    }
    const http = { fallback: refusePlainly }
    const at = { library: loadQuicLibrary(), tls: certificate(), host: '127.0.0.1', port: 0 }
    const carrier = createHttp3Carrier({ ...at, routes: [route], http })
    const relay = await startRelay((await carrier.listen()).port)
    const client = await connectHttp3(relay.port)
    const records = recordsOf(client.open('/frames', {}, false))
    return {
      channel: await opened.promise,
      reader: {
        async next() {
          const record = await records.next()
          return record?.kind === 'frame' ? record.content : undefined
        },
        pause: relay.pause,
        resume: relay.resume,
        leave: client.close,
        async ended() {
          for (let last = await records.next(); last; last = await records.next()) {
            if (last.kind === 'envelope') return JSON.parse(textOf(last)).state
          }
          throw new Error('The stream ended without an envelope.')
        },
      },
      async cleanup() {
        await client.close()
        await carrier.close(0)
        relay.close()
      },
    }
  })
})
