/**
 * The shared test suite for frame channels. Pass your runner's `describe`, `test` and `expect`, and a function that
 * opens a channel with a real reader at its other end. Frames that a transport may lose are not tested here.
 */
import { Fault } from '../../../core/fault.ts'
import type { FrameChannel } from '../../../core/ports/frames.ts'
import type { TestRunner } from '../runner.ts'

/** The reader at the other end of the channel. */
export interface FrameReader {
  /**
   * The next frame, as text if it is text. `undefined` after the last one. `bytes` is true if the frame was sent as
   * bytes, for a transport on which only the encoding of the stream tells.
   */
  next(bytes?: boolean): Promise<string | Uint8Array | undefined>
  /** Stops reading, so that the channel runs out of room. */
  pause(): void
  resume(): void
  /** Disconnects without closing the connection, as a killed process does. */
  leave(): void | Promise<void>
  /** How the reader learns of the end: in order, or with an error. */
  ended(): Promise<'complete' | 'error'>
}

export interface OpenedFrames {
  channel: FrameChannel
  reader: FrameReader
  cleanup(): Promise<void>
}

export interface FrameTraits {
  /** False if the transport has no reader that the channel could wait for, such as a broker. Default: true. */
  knowsReader?: boolean
  /** False if the channel cannot tell its reader of the end. Default: true. */
  tellsEnd?: boolean
}

type FrameStory = (title: string, body: (opened: OpenedFrames) => Promise<void>) => void

export function describeFrames(
  { describe, test, expect }: TestRunner,
  name: string,
  open: () => Promise<OpenedFrames>,
  { knowsReader = true, tellsEnd = true }: FrameTraits = {},
): void {
  const story: FrameStory = (title, body) =>
    test(title, async () => {
      const opened = await open()
      try {
        await body(opened)
      } finally {
        await opened.cleanup()
      }
    })

  describe(name, () => {
    story('frames arrive whole and in order, as text and as bytes', async ({ channel, reader }) => {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 251)
      await channel.send('{"n":1}')
      await channel.send(bytes)
      await channel.send('{"text":"grüße ✓"}')

      expect(textOf(await reader.next())).toBe('{"n":1}')
      expect(bytesOf(await reader.next(true))).toEqual(bytes)
      expect(textOf(await reader.next())).toBe('{"text":"grüße ✓"}')
    })

    story('frames that are sent without waiting arrive in order', async ({ channel, reader }) => {
      const waits: unknown[] = []
      for (let n = 0; n < 500; n++) waits.push(channel.send(String(n)))

      for (let n = 0; n < 500; n++) expect(textOf(await reader.next())).toBe(String(n))
      await Promise.all(waits)
    })

    story('a sender that never waits is told to wait within one turn of the event loop', async ({ channel }) => {
      let sent = 0
      while (sent < 1_000 && !channel.send('x')) sent++

      expect(sent < 65).toBe(true)
    })

    if (knowsReader) {
      story('a reader that stops reading makes the sender wait, and gets every frame later', async (opened) => {
        const { channel, reader } = opened
        const frame = 'x'.repeat(16 * 1024)
        reader.pause()
        let sent = 0
        let waits = false
        // Until the buffers between both ends are full. A promise that is still pending after a while means no room.
        while (!waits && sent < 20_000) {
          const room = channel.send(frame)
          sent++
          if (room) waits = await isPending(room)
        }
        reader.resume()

        expect(waits).toBe(true)
        for (let n = 0; n < sent; n++) expect(textOf(await reader.next())).toBe(frame)
      })

      story(
        'when the reader leaves, the signal aborts and a sender that waits goes on',
        async ({ channel, reader }) => {
          const gone = new Promise<void>((resolve) => {
            channel.signal.addEventListener('abort', () => resolve(), { once: true })
          })
          await channel.send('first')
          await reader.next()
          await reader.leave()
          for (let n = 0; n < 100 && !channel.signal.aborted; n++) await Promise.race([channel.send('x'), gone])
          await gone

          await channel.send('after')
        },
      )
    }

    if (tellsEnd) {
      story('the reader learns that the stream is complete, after the last frame', async ({ channel, reader }) => {
        void channel.send('last')
        await channel.end()

        expect(textOf(await reader.next())).toBe('last')
        expect(await reader.ended()).toBe('complete')
      })

      story('the reader learns that the stream has failed', async ({ channel, reader }) => {
        await channel.end(new Fault('unavailable', 'The device is off.', { code: 'DEVICE_OFF' }))

        expect(await reader.ended()).toBe('error')
      })
    }
  })
}

/** True if the promise has not settled after some turns of the event loop and a few milliseconds. */
async function isPending(room: Promise<void>): Promise<boolean> {
  let settled = false
  void room.then(() => {
    settled = true
  })
  for (let turn = 0; turn < 50 && !settled; turn++) await new Promise((resolve) => setTimeout(resolve, 2))
  return !settled
}

function textOf(frame: string | Uint8Array | undefined): string | undefined {
  return typeof frame === 'string' ? frame : frame && new TextDecoder().decode(frame)
}

function bytesOf(frame: string | Uint8Array | undefined): Uint8Array | undefined {
  return typeof frame === 'string' ? new TextEncoder().encode(frame) : frame && Uint8Array.from(frame)
}
