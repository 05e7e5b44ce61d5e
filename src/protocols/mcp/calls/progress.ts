/** Waits for a call up to a limit, and sends progress notifications in the meantime. */

import type { Reply } from '../../../core/call/reply.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { hasEnded, type RunningReply } from '../codec.ts'
import { notification } from '../rpc.ts'
import type { RpcNotification } from '../wire.ts'

export interface Following {
  /** Yields every change until the signal aborts. */
  replies(signal: AbortSignal): AsyncIterable<Reply>
  clock: Clock
  holdMs: number
  presence: AbortSignal
}

/** Returns the last known reply. Without a token, it sends no notifications. */
export async function* followProgress(
  first: RunningReply,
  token: string | number | undefined,
  { replies, clock, holdMs, presence }: Following,
): AsyncGenerator<RpcNotification, Reply> {
  const enough = new AbortController()
  const cancel = clock.schedule(holdMs, () => enough.abort())
  let told = -1
  try {
    let latest: Reply = first
    for await (const reply of replies(AbortSignal.any([enough.signal, presence]))) {
      latest = reply
      if (hasEnded(reply)) break
      const { fraction, message } = reply.progress ?? { fraction: -1 }
      // The specification requires that the value grows with each notification.
      if (token === undefined || fraction <= told) continue
      told = fraction
      yield notification('notifications/progress', {
        progressToken: token,
        progress: Math.round(fraction * 1000) / 10,
        total: 100,
        ...(message !== undefined && { message }),
      })
    }
    return latest
  } finally {
    cancel()
  }
}
