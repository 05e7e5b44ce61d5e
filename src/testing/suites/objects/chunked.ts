/** Part of the object suite: chunked results. */
import type { ChunkOptions } from '../../../core/ports/objects.ts'
import { chainProblems, joined, readChain } from '../../fakes/chunk-chain.ts'
import type { TestRunner } from '../runner.ts'
import { BINARY, bytes, type ObjectStory, text, write } from './object-content.ts'

const TEXT: ChunkOptions = { mimeType: 'text/plain', chunkBytes: 4, text: true }

export function describeChunkedObjects({ describe, expect }: TestRunner, name: string, story: ObjectStory): void {
  describe(`${name}: chunked objects`, () => {
    story('writes of any size become chunks of one size, each chained to the one before', async (objects) => {
      const written = await write(objects, 'call/c', BINARY, '01', '', '2345678', '9')

      const chain = await readChain(objects, 'call/c')
      expect(chain.map((chunk) => text(chunk.bytes))).toEqual(['0123', '4567', '89'])
      expect(chainProblems(chain)).toEqual([])
      expect(written).toEqual({ count: 3, bytes: 10, finished: true, mimeType: BINARY.mimeType })
      expect(await objects.chunks('call/c')).toEqual(written)
      expect(await objects.chunk('call/c', 3)).toBe(undefined)
      expect(await objects.chunk('call/c', -1)).toBe(undefined)
    })

    story('text is cut between code points, even if one is larger than a chunk', async (objects) => {
      await write(objects, 'call/t', TEXT, 'aé€', '😀😀b')
      await write(objects, 'call/tiny', { ...TEXT, chunkBytes: 1 }, '😀é')

      const chain = await readChain(objects, 'call/t')
      expect(chain.map((chunk) => text(chunk.bytes))).toEqual(['aé', '€', '😀', '😀', 'b'])
      expect(chainProblems(chain)).toEqual([])
      expect((await readChain(objects, 'call/tiny')).map((chunk) => text(chunk.bytes))).toEqual(['😀', 'é'])
    })

    story('a text result that is not UTF-8 is refused', async (objects) => {
      const writer = await objects.writeChunks('call/t', TEXT)

      await writer.write(Uint8Array.of(0x61, 0xff))

      await expect(writer.finish()).rejects.toMatchObject({ kind: 'internal', code: 'RESULT_NOT_TEXT' })
      expect(await objects.chunk('call/t', 0)).toBe(undefined)
    })

    story('an empty result is one empty chunk', async (objects) => {
      await write(objects, 'call/e', BINARY)

      const chain = await readChain(objects, 'call/e')
      expect(chain.map((chunk) => [chunk.offset, chunk.length])).toEqual([[0, 0]])
      expect(chainProblems(chain)).toEqual([])
      expect(await objects.chunks('call/e')).toMatchObject({ count: 1, bytes: 0, finished: true })
    })

    story(
      'chunks can be read while the rest is being written, and every chunk but the last has a next one',
      async (objects) => {
        expect(await objects.chunks('call/c')).toBe(undefined)
        const writer = await objects.writeChunks('call/c', BINARY)
        expect(await objects.chunks('call/c')).toMatchObject({ count: 0, bytes: 0, finished: false })

        await writer.write(bytes('01234567'))
        // The second chunk is full, but the store cannot know yet if it is the last.
        expect(await objects.chunks('call/c')).toMatchObject({ count: 1, bytes: 4, finished: false })
        expect(text((await objects.chunk('call/c', 0))?.bytes ?? bytes(''))).toBe('0123')
        expect(await objects.chunk('call/c', 1)).toBe(undefined)

        await writer.finish()
        expect(await objects.chunks('call/c')).toMatchObject({ count: 2, bytes: 8, finished: true })
      },
    )

    story('writes that are not awaited keep their order', async (objects) => {
      const writer = await objects.writeChunks('call/c', BINARY)

      await Promise.all([...'abcdefghij'].map((letter) => writer.write(bytes(letter))))
      await writer.finish()

      expect(text(joined(await readChain(objects, 'call/c')))).toBe('abcdefghij')
    })

    story('a second run with the same bytes continues where the first was interrupted', async (objects) => {
      const first = await objects.writeChunks('call/c', BINARY)
      await first.write(bytes('0123456789'))
      const seen = await readChain(objects, 'call/c')

      const changedSetting = { ...BINARY, chunkBytes: 7 }
      await write(objects, 'call/c', changedSetting, '0123', '4567', '89ab')

      const chain = await readChain(objects, 'call/c')
      expect(chain.slice(0, seen.length)).toEqual(seen)
      expect(text(joined(chain))).toBe('0123456789ab')
      expect(chainProblems(chain)).toEqual([])
    })

    for (const [how, again] of [
      ['other bytes', '0123-567-9'],
      ['fewer bytes', '0123'],
      ['more bytes', '0123456789abcdef'],
    ] as const) {
      story(`a second run with ${how} is refused, and the announced chunks stay`, async (objects) => {
        await write(objects, 'call/c', BINARY, '0123456789')
        const seen = await readChain(objects, 'call/c')

        await expect(write(objects, 'call/c', BINARY, again)).rejects.toMatchObject({
          kind: 'internal',
          code: 'CHUNKS_DIVERGED',
        })

        expect(await readChain(objects, 'call/c')).toEqual(seen)
      })
    }

    story('a second run with another media type is refused', async (objects) => {
      await write(objects, 'call/c', BINARY, '0123')

      await expect(objects.writeChunks('call/c', TEXT)).rejects.toMatchObject({ code: 'CHUNKS_DIVERGED' })
    })

    story('a finished result can be written again with the same bytes', async (objects) => {
      const first = await write(objects, 'call/c', BINARY, '0123456789')

      expect(await write(objects, 'call/c', BINARY, '01234', '56789')).toEqual(first)
    })

    story('two concurrent writers with the same bytes write one chain', async (objects) => {
      const content = 'the quick brown fox jumps over the lazy dog'

      await Promise.all([
        write(objects, 'call/c', BINARY, content),
        write(objects, 'call/c', BINARY, ...content),
        write(objects, 'call/c', BINARY, content),
      ])

      const chain = await readChain(objects, 'call/c')
      expect(text(joined(chain))).toBe(content)
      expect(chainProblems(chain)).toEqual([])
    })

    story(
      'if two concurrent writers differ, one is refused and the chain has only the bytes of the other',
      async (objects) => {
        const content = ['0000111122223333', '0000aaaabbbb']

        const ends = await Promise.allSettled(content.map((each) => write(objects, 'call/c', BINARY, each)))

        const winner = ends.findIndex((end) => end.status === 'fulfilled')
        expect(ends.filter((end) => end.status === 'rejected').length).toBe(1)
        const chain = await readChain(objects, 'call/c')
        expect(text(joined(chain))).toBe(content[winner])
        expect(chainProblems(chain)).toEqual([])
      },
    )
  })
}
