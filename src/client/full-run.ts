/** A run of the full client: it also reports the progress of the call. */
import type { Calling } from './calling.ts'
import { isOver, withCall } from './judge.ts'
import type { Envelope, Progress } from './options.ts'
import { CallRun, type Run, type Waiting } from './run.ts'
import type { Received } from './transport.ts'

export interface ProgressRun<Result> extends Run<Result> {
  /** Every report of progress until the call ends. A failure of the call is thrown by `result()` alone. */
  progress(options?: Waiting): AsyncIterable<Progress>
}

export class FullRun<Result> extends CallRun<Result> implements ProgressRun<Result> {
  async *progress(options?: Waiting): AsyncIterable<Progress> {
    const limit = this.calling.limit(options)
    let shown: string | undefined
    try {
      for await (const { progress } of changes(this.calling, this.last, limit.signal)) {
        const text = JSON.stringify(progress)
        if (progress && text !== shown) yield progress
        shown = text
      }
    } catch (thrown) {
      throw withCall(thrown, this.call)
    } finally {
      limit.end()
    }
  }
}

/** Every state of a call until it ends: as the server pushes them where it can, else by polls. */
export async function* changes(
  calling: Calling,
  first: Received,
  signal: AbortSignal | undefined,
): AsyncIterable<Envelope> {
  let now = first
  const watched = calling.transport.watch?.(now.envelope.requestId, signal)
  if (watched && !isOver(now.envelope)) {
    for await (const envelope of watched) {
      yield envelope
      now = { envelope }
    }
  }
  while (!isOver(now.envelope)) {
    now = await calling.following(now, signal)
    yield now.envelope
  }
}
