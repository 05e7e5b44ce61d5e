/** The bytes of a response as they arrive. Not every browser can loop over a body. */
import { lost } from './requests.ts'

export async function* bytesOf(
  { body, url }: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = (body as ReadableStream<Uint8Array<ArrayBuffer>> | null)?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } catch (thrown) {
    throw lost(thrown, signal, url)
  } finally {
    void reader.cancel().catch(() => {})
  }
}
