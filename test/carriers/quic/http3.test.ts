/** HTTP/3 passes the suite of all HTTP carriers, and survives clients that break its rules. */
import { describe, expect, test } from 'vitest'
import { createHttp3Carrier, loadQuicLibrary } from '../../../src/carriers/quic/index.ts'
import { describeCarrier, type OpenCarrier } from '../../../src/testing/suites/carrier/carrier.ts'
import { describeWith, quicLibrary } from '../../engines/engines.ts'
import { certificate, connectHttp3 } from './client.ts'

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
})
