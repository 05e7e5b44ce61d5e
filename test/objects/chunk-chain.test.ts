/** For any data, slicing and chunk size there is one chain, and a receiver accepts it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCutter } from '../../src/platform/objects/cutter.ts'
import { chainProblems, joined, readChain } from '../../src/testing/fakes/chunk-chain.ts'
import { verifies } from '../requirements.ts'
import { openFolder } from './folder.ts'

const anyText = fc.string({ unit: 'binary', maxLength: 60 })
const anyBytes = fc.uint8Array({ maxLength: 120 })
const anyCuts = fc.array(fc.nat(), { maxLength: 12 })

test('bytes are cut at every chunkBytes, however they are sliced', () => {
  fc.assert(
    fc.property(anyBytes, fc.integer({ min: 1, max: 40 }), anyCuts, (content, chunkBytes, cuts) => {
      const expected: Uint8Array[] = []
      for (let at = 0; at < content.length || at === 0; at += chunkBytes) {
        expected.push(content.slice(at, at + chunkBytes))
      }

      expect(cutAll(content, cuts, { chunkBytes, text: false })).toEqual(expected)
    }),
    { numRuns: 1000 },
  )
})

test('text is packed code point by code point, however it is sliced', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 20 }), anyCuts, (content, chunkBytes, cuts) => {
      const expected = packCodePoints(content, Math.max(chunkBytes, 4))

      const chunks = cutAll(new TextEncoder().encode(content), cuts, { chunkBytes, text: true })

      expect(chunks.map((chunk) => decode(chunk))).toEqual(expected)
    }),
    { numRuns: 1000 },
  )
})

test('a stored chain is accepted by a receiver that checks offsets, lengths, checksums and links', async () => {
  // docs/readings.md#r16: offsets, lengths and checksums are of raw bytes, and text is split between code points only.
  verifies('opencall:160', 'opencall:161', 'opencall:162', 'opencall:164', 'opencall:165', 'opencall:170')
  verifies('opencall:295')
  await using store = await openFolder()
  const { objects } = store
  const anyContent = fc.oneof(
    anyBytes.map((content) => ({ content, text: false })),
    anyText.map((content) => ({ content: new TextEncoder().encode(content), text: true })),
  )
  let runs = 0

  await fc.assert(
    fc.asyncProperty(anyContent, fc.integer({ min: 6, max: 40 }), anyCuts, async (any, chunkBytes, cuts) => {
      const id = `call/${runs++}`
      const options = { mimeType: any.text ? 'text/plain' : 'image/png', chunkBytes, text: any.text }

      const writer = await objects.writeChunks(id, options)
      for (const slice of sliced(any.content, cuts)) await writer.write(slice)
      const info = await writer.finish()

      const chain = await readChain(objects, id)
      expect(chainProblems(chain)).toEqual([])
      expect(chain[0]?.checksumPrevious).toBe(null)
      expect([...joined(chain)]).toEqual([...any.content])
      expect(info).toMatchObject({ count: chain.length, bytes: any.content.length, finished: true })
      expect(await objects.chunks(id)).toEqual(info)
      if (any.text) for (const chunk of chain) decode(chunk.bytes)
    }),
    { numRuns: 60 },
  )
})

test('a run cut off anywhere and run again, sliced otherwise, ends in the chain of a run that was not', async () => {
  await using store = await openFolder()
  const { objects } = store
  const options = { mimeType: 'image/png', chunkBytes: 16, text: false }
  let runs = 0

  await fc.assert(
    fc.asyncProperty(anyBytes, fc.nat(120), anyCuts, async (content, cutOffAt, cuts) => {
      const [straight, cut] = [`call/straight-${runs}`, `call/cut-${runs++}`]
      const undisturbed = await objects.writeChunks(straight, options)
      await undisturbed.write(content)
      await undisturbed.finish()

      await (await objects.writeChunks(cut, options)).write(content.subarray(0, cutOffAt))
      const again = await objects.writeChunks(cut, options)
      for (const slice of sliced(content, cuts)) await again.write(slice)
      await again.finish()

      expect(await readChain(objects, cut)).toEqual(await readChain(objects, straight))
    }),
    { numRuns: 25 },
  )
})

function cutAll(content: Uint8Array, cuts: number[], options: { chunkBytes: number; text: boolean }): Uint8Array[] {
  const cutter = createCutter(options)
  const chunks: Uint8Array[] = []
  for (const slice of sliced(content, cuts)) {
    for (const chunk of cutter.cut(slice)) chunks.push(chunk.slice())
  }
  return [...chunks, cutter.rest().slice()]
}

function sliced(content: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...cuts.map((cut) => cut % (content.length + 1)), content.length].sort((a, b) => a - b)
  return places.map((end, index) => content.subarray(places[index - 1] ?? 0, end))
}

function packCodePoints(content: string, size: number): string[] {
  const chunks = ['']
  for (const codePoint of content) {
    const last = chunks.length - 1
    if (Buffer.byteLength(chunks[last] + codePoint) > size) chunks.push(codePoint)
    else chunks[last] += codePoint
  }
  return chunks
}

function decode(chunk: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(chunk)
}
