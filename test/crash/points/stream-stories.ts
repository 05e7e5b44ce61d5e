/** Stories about streams: a client subscribes and reads until it has seen a stream to its end, or unsubscribes. */
import { operation } from 'callplane'
import { z } from 'zod'
import type { PointStory } from './every-point.ts'
import type { Life } from './world.ts'

const MOST_TRIES = 5

function studio(life: Life) {
  return {
    operations: [
      operation('v1:studio.watch', {
        args: z.object({ frames: z.int() }),
        frame: z.object({ n: z.int() }),
        async *run({ frames }, { signal }) {
          life.note('watch')
          for (let n = 1; n <= frames; n++) yield { n }
          if (frames === 0) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        },
      }),
    ],
    work: { leaseMs: 30_000, claimEveryMs: 5_000 },
    limits: { pollBurst: 100_000 },
  }
}

/** Subscribes under this request id. The client has no ticket after a repeat, and reads with its own credential. */
async function subscribe(life: Life, requestId: string, frames: number): Promise<{ state: string; path: string }> {
  const ctx = { requestId, sessionId: 'studio' }
  const { body } = await life.request('/call', { op: 'v1:studio.watch', args: { frames }, ctx })
  return { state: body.state, path: new URL(body.stream?.location ?? 'ws://none/').pathname }
}

async function read(life: Life, path: string): Promise<string> {
  const request = new Request(`http://127.0.0.1:4747${path}`, { headers: { Accept: 'text/event-stream' } })
  const response = await life.alive(life.server.fetch(request))
  return life.alive(response.text())
}

function ended(life: Life, requestId: string): Promise<{ state: string; result?: unknown }> {
  return life.until(async () => {
    const { status, body } = await life.request(`/ops/${requestId}`)
    return status === 200 && (body.state === 'complete' || body.state === 'error') ? body : undefined
  }, 500)
}

export const STREAM_STORIES: readonly PointStory[] = [
  {
    name: 'a stream that is read to its end',
    options: studio,
    async tell(life) {
      for (let tries = 1; tries <= MOST_TRIES; tries++) {
        const { state, path } = await subscribe(life, `r${tries}`, 3)
        if (state === 'streaming') await read(life, path)
        const last = await ended(life, `r${tries}`)
        if (last.state === 'complete') return last
      }
      return undefined
    },
    outcome: { state: 'complete', result: { frames: 3, ended: 'done' } },
    runs: [1, 2],
  },
  {
    name: 'a stream that is subscribed and unsubscribed, and never read',
    options: studio,
    async tell(life) {
      await subscribe(life, 'r1', 0)
      await life.request('/call', { op: 'v1:unsubscribeFromStream', args: { sessionId: 'studio' } })
      return ended(life, 'r1')
    },
    outcome: { state: 'complete', result: { frames: 0, ended: 'unsubscribed' } },
    runs: [0, 0],
  },
]
