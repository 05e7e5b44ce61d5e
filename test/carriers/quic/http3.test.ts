/** HTTP/3 passes the suite of all HTTP carriers, and survives clients that break its rules. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHttp3Carrier, loadQuicLibrary, suitsBrowsers } from '../../../src/carriers/quic/index.ts'
import { describeCarrier, type OpenCarrier } from '../../../src/testing/suites/carrier/carrier.ts'
import { refusePlainly } from '../../../src/testing/suites/carrier/content.ts'
import { describeWith, quicLibrary } from '../../engines/engines.ts'
import { certificate, connectHttp3 } from './client.ts'
import { startRelay } from './relay.ts'

/** Chromium closes a connection on a packet that is one byte longer. */
const CHROMIUM_MAX_PACKET = 1472

describeWith(quicLibrary, 'HTTP/3', () => {
  const open: OpenCarrier = async (routes, http) => {
    const library = loadQuicLibrary()
    const carrier = createHttp3Carrier({ library, tls: certificate(), host: '127.0.0.1', port: 0, routes, http })
    const { port } = await carrier.listen()
    const client = await connectHttp3(port)
    return {
      url: `https://127.0.0.1:${port}`,
      send: client.send,
      async cleanup() {
        await client.close()
        await carrier.close(0)
      },
    }
  }
  describeCarrier({ describe, test, expect }, 'carrier', open, { noticesCancel: false })

  // If the second row fails, the library respects the limit of the client: then browsers can use every address.
  test.each(['0.0.0.0', '127.0.0.1'])('browsers are told of %s only if its packets are not too long', async (host) => {
    const at = { library: loadQuicLibrary(), tls: certificate(), host, port: 0 }
    const carrier = createHttp3Carrier({ ...at, routes: [], http: { fallback: refusePlainly } })
    const relay = await startRelay((await carrier.listen()).port)
    onTestFinished(async () => {
      await carrier.close(0)
      relay.close()
    })
    const client = await connectHttp3(relay.port)
    await client.send('/')

    // The first probe is the longest packet that the server ever sends.
    const longest = await relay.probe
    await client.close()

    expect(suitsBrowsers(host)).toBe(longest <= CHROMIUM_MAX_PACKET)
    expect(suitsBrowsers(host)).toBe(host === '0.0.0.0')
  })
})
