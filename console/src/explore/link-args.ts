/** Arguments in a link: deflated, so that a link stays short, and without fields that must not leave the page. */

/** A longer text is not put into a link, and a link with more is not read. */
const MAX_TEXT = 200_000
const MAX_LINK = 30_000

/** `undefined` if the arguments are too large for a link. */
export async function encodeArgs(text: string): Promise<string | undefined> {
  if (text.length > MAX_TEXT) return undefined
  const bytes = await collect(new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw')), MAX_TEXT)
  if (!bytes) return undefined
  const encoded = btoa(String.fromCharCode(...bytes.slice(0, MAX_LINK)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
  return bytes.length > MAX_LINK || encoded.length > MAX_LINK ? undefined : encoded
}

/** `undefined` if the link is broken, or would become too large. */
export async function decodeArgs(encoded: string): Promise<string | undefined> {
  if (encoded.length > MAX_LINK || !/^[\w-]+$/.test(encoded)) return undefined
  try {
    const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
    const text = await collect(inflated, MAX_TEXT * 4)
    return text && new TextDecoder('utf-8', { fatal: true }).decode(text)
  } catch {
    return undefined
  }
}

async function collect(stream: ReadableStream<Uint8Array>, max: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = []
  let length = 0
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    // A short link can inflate to gigabytes.
    if (length > max) {
      await reader.cancel()
      return undefined
    }
    parts.push(value)
  }
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
