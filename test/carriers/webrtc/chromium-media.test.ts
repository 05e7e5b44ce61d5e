/** Chromium plays the audio and video of media tracks, in every codec that it can decode. */
import { jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import type { MediaTrack, TrackFrame } from '../../../src/core/operation/stream.ts'
import { openChromium } from '../../engines/chromium.ts'
import { browser, describeWith } from '../../engines/engines.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { untilConnections } from './connections.ts'
import { canPlay, ENCODE_TONE, encodeVideo, HEAR_TONE, WATCH_VIDEO } from './media-page.ts'
import { openPage } from './page.ts'
import { count } from './streams.ts'
import { guardUdp } from './udp-guard.ts'

vi.setConfig({ testTimeout: 60_000 })
guardUdp()

const AUTOPLAY = ['--autoplay-policy=no-user-gesture-required']

/** Plays the frames that the test puts into the list, again and again. */
function createPlayer(name: string, track: MediaTrack, everyMs: number) {
  const frames: string[] = []
  const definition = operation(name, {
    args: jsonSchema<Record<string, unknown>>({ type: 'object' }),
    frame: jsonSchema<TrackFrame>({ type: 'object' }),
    stream: { transports: ['webrtc'], track },
    async *run(_, { signal }) {
      for (let n = 0; !signal.aborted; n++) {
        const bytes = Buffer.from(frames[n % frames.length] ?? '', 'base64')
        yield { bytes, timestampMs: n * everyMs, keyframe: n % 10 === 0 }
        await new Promise((resolve) => setTimeout(resolve, everyMs))
      }
    },
  })
  return { frames, definition }
}

describeWith(browser, 'media tracks, played by Chromium', () => {
  test.each([
    ['VP8', { codec: 'vp8' }],
    ['VP9', { codec: 'vp09.00.10.08' }],
    ['H264', { codec: 'avc1.42E01F', avc: { format: 'annexb' } }],
  ])('a video element shows the moving pictures of a track in %s', async (codec, config) => {
    verifies('opencall:323')
    const camera = createPlayer('v1:camera.film', { kind: 'video', codec }, 33)
    const site = await startSite({ operations: [camera.definition, count], webrtc: true })
    await using chromium = await openChromium(AUTOPLAY)
    const page = await openPage(chromium, site.url)
    // Debian's Chromium has all three; another build may lack H264.
    expect(await page.evaluate(canPlay(config, `video/${codec.toLowerCase()}`))).toBe(true)
    camera.frames.push(...(await page.evaluate<string[]>(encodeVideo(config))))

    const seen = await page.evaluate<Record<string, unknown>>(WATCH_VIDEO)

    expect(seen).toMatchObject({ status: 202, width: 64, numbers: [{ n: 1 }, { n: 2 }, { n: 3 }] })
    expect(seen.colours).toHaveLength(5)
    await site.call('v1:unsubscribeFromStream', { requestId: 'film' })
    expect((await site.ended('film')).body).toMatchObject({ state: 'complete' })
    await untilConnections(site, 0)
  })

  test('the tone of a track in Opus is heard', async () => {
    verifies('opencall:323')
    const microphone = createPlayer('v1:microphone.listen', { kind: 'audio', codec: 'opus' }, 20)
    const site = await startSite({ operations: [microphone.definition], webrtc: true })
    await using chromium = await openChromium(AUTOPLAY)
    const page = await openPage(chromium, site.url)
    microphone.frames.push(...(await page.evaluate<string[]>(ENCODE_TONE)))

    const { status, hertz } = await page.evaluate<{ status: number; hertz: number }>(HEAR_TONE)

    expect(status).toBe(202)
    expect(hertz).toBeGreaterThan(400)
    expect(hertz).toBeLessThan(480)
  })
})
