/** A stream for browsers: the position of a point on a circle. `docs/adapters/carriers/webrtc.md` reads it. */
import { setTimeout as pause } from 'node:timers/promises'
import { operation } from 'callplane'
import { z } from 'zod'

export const orbit = operation('v1:demo.orbit', {
  description: 'The position of a point that circles around 0, fifty times a second.',
  args: z.object({ steps: z.int().min(1).max(100_000).default(1_000) }),
  frame: z.object({ x: z.number(), y: z.number() }),
  ttlSeconds: 3_600,
  async *run({ steps }, { signal }) {
    for (let step = 0; step < steps && !signal.aborted; step++) {
      yield { x: Math.cos(step / 10), y: Math.sin(step / 10) }
      await pause(20)
    }
  },
})

/** The options of the server. */
export const server = { webrtc: true }
