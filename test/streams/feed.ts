/** A stream that yields what the test pushes. */
import { jsonSchema, operation } from 'callplane'
import type { StreamOptions } from '../../src/core/operation/stream.ts'

export function createFeed(stream: StreamOptions = {}) {
  const pushed: unknown[] = []
  const feed = { wake: () => {}, push, left: () => pushed.length }
  function push(...frames: unknown[]) {
    pushed.push(...frames)
    feed.wake()
  }
  const definition = operation('v1:feed.watch', {
    frame: jsonSchema<unknown>({}),
    stream,
    async *run(_args, { signal }) {
      signal.addEventListener('abort', () => feed.wake())
      while (!signal.aborted) {
        while (pushed.length > 0) yield pushed.shift()
        await new Promise<void>((resolve) => {
          feed.wake = resolve
        })
      }
    },
  })
  return { feed, definition }
}

/** The address of the stream at another server. */
export function at(site: { url: string }, url: string): string {
  return new URL(new URL(url).pathname, site.url).href
}
