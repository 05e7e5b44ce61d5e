/** Chromium calls over HTTP/3 and reads a stream of frames. */
import { jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { openChromium } from '../../engines/chromium.ts'
import { browser, describeWith, quicLibrary, together } from '../../engines/engines.ts'
import { verifies } from '../../requirements.ts'
import { certificate } from './client.ts'
import { protection, recordsIn, startQuicSite, textOf } from './site.ts'

vi.setConfig({ testTimeout: 60_000 })

const add = operation('v1:math.add', {
  args: jsonSchema<{ a: number; b: number }>({ type: 'object' }),
  result: jsonSchema({ type: 'number' }),
  run: async ({ a, b }) => a + b,
})
const tick = operation('v1:clock.tick', {
  args: jsonSchema({ type: 'object' }),
  frame: jsonSchema({ type: 'object' }),
  async *run() {
    for (let n = 1; n <= 5; n++) yield { n }
  },
})

interface Seen {
  result: number
  status: number
  bytes: number[]
  protocols: string[]
}

/** Runs in the page: tsconfig has no DOM library, so it is text. */
const script = (token: string) => `(async () => {
  const call = async (op, args) => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer ${token}' }
    return (await fetch('/call', { method: 'POST', headers, body: JSON.stringify({ op, args }) })).json()
  }
  const sum = await call('v1:math.add', { a: 1, b: 2 })
  const { stream } = await call('v1:clock.tick', { transport: 'quic' })
  const headers = { accept: stream.accept, authorization: 'otk ' + stream.auth.credential }
  const frames = await fetch(stream.location, { headers })
  const bytes = [...new Uint8Array(await frames.arrayBuffer())]
  const [page] = performance.getEntriesByType('navigation')
  const protocols = [page, ...performance.getEntriesByType('resource')].map((entry) => entry.nextHopProtocol)
  return { result: sum.result, status: frames.status, bytes, protocols }
})()`

describeWith(together(quicLibrary, browser), 'Chromium over HTTP/3', () => {
  test('calls, and reads the frames of a stream', async () => {
    verifies('opencall:325', 'opencall:327')
    const { token, auth } = protection()
    // On 127.0.0.1 the server sends packets that are too long for Chromium. See `suitsBrowsers`.
    const { port } = await startQuicSite({ operations: [add, tick], auth, quic: { port: 0, host: '0.0.0.0' } })
    await using chromium = await openChromium([
      '--enable-quic',
      `--origin-to-force-quic-on=127.0.0.1:${port}`,
      `--ignore-certificate-errors-spki-list=${certificate().spki}`,
    ])
    const page = await chromium.newPage()

    await page.goto(`https://127.0.0.1:${port}/.well-known/ops`)
    const seen = (await page.evaluate(script(token))) as Seen

    expect(seen).toMatchObject({ result: 3, status: 200 })
    expect(new Set(seen.protocols)).toEqual(new Set(['h3']))
    const records = recordsIn(Uint8Array.from(seen.bytes)).map((record) => JSON.parse(textOf(record)))
    expect(records).toMatchObject([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, { n: 5 }, { state: 'complete' }])
  })
})
