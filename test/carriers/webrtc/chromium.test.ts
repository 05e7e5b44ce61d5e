/** Chromium reads streams over WebRTC. */
import { expect, test, vi } from 'vitest'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { openChromium } from '../../engines/chromium.ts'
import { browser, describeWith } from '../../engines/engines.ts'
import { openPage } from './page.ts'
import { count, fails, tick } from './streams.ts'
import { guardUdp } from './udp-guard.ts'

vi.setConfig({ testTimeout: 60_000 })
guardUdp()

describeWith(browser, 'streams over WebRTC, read by Chromium', () => {
  test('frames arrive in order on a data channel, and the reader learns of the end', async () => {
    const site = await startSite({ operations: [count], webrtc: true })
    await using chromium = await openChromium()
    const page = await openPage(chromium, site.url)

    const seen = await page.evaluate(`(async () => {
      const reader = newReader()
      const reply = await call('v1:numbers.count', { count: 500, webrtc: await offer(reader.pc) }, 'first')
      await reader.pc.setRemoteDescription(reply.stream.webrtc)
      await reader.until(({ closed, ends }) => closed.first && ends.length > 0)
      return { reply, frames: reader.frames.first, ends: reader.ends }
    })()`)

    console.log(JSON.stringify(seen).slice(0, 3000))
  })
})
