/** The frames of a stream while a component is shown. */
import { useEffect, useRef, useState } from 'react'
import { type CallFault, isFault } from '../client/fault.ts'
import type { CallOptions } from '../client/options.ts'
import type { FrameStream } from '../client/streams/frame-stream.ts'

export interface StreamState<Frame> {
  readonly status: 'connecting' | 'streaming' | 'complete' | 'error' | 'off'
  /** The last frame. */
  readonly frame: Frame | undefined
  /** The last frames, oldest first: as many as `keep`. */
  readonly frames: readonly Frame[]
  readonly error: CallFault | undefined
}

interface StreamOptions<Frame> {
  /** Default: true. */
  enabled?: boolean
  /** How many frames are kept (default: 1). */
  keep?: number
  /** Called with each frame, also with those that are not shown. */
  onFrame?: (frame: Frame) => void
}

const NO_FRAMES: readonly never[] = []

/** Subscribes again when the arguments change, and unsubscribes when the component goes. */
export function useStream<Args, Frame>(
  operation: (args: Args, options?: CallOptions) => FrameStream<Frame>,
  args: Args,
  options: StreamOptions<Frame> = {},
): StreamState<Frame> {
  const { enabled = true, keep = 1 } = options
  const [state, setState] = useState<StreamState<Frame>>(initial(enabled))
  const current = useRef({ operation, args, onFrame: options.onFrame })
  useEffect(() => {
    current.current = { operation, args, onFrame: options.onFrame }
  })
  const key = JSON.stringify(args)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the arguments.
  useEffect(() => {
    setState(initial(enabled))
    if (!enabled) return
    const stream = current.current.operation(current.current.args)
    let isLeft = false
    const read = async () => {
      try {
        let waiting: Frame[] = []
        for await (const frame of stream) {
          current.current.onFrame?.(frame)
          waiting.push(frame)
          if (waiting.length > 1) continue
          // Frames of one turn are shown together.
          queueMicrotask(() => {
            const arrived = waiting
            waiting = []
            if (!isLeft) setState((before) => withFrames(before, arrived, keep))
          })
        }
        if (!isLeft) setState((before) => ({ ...before, status: 'complete' }))
      } catch (thrown) {
        if (!isFault(thrown)) throw thrown
        if (!isLeft) setState((before) => ({ ...before, status: 'error', error: thrown }))
      }
    }
    void read()
    return () => {
      isLeft = true
      stream.close()
    }
  }, [key, enabled, keep])
  return state
}

function initial(isEnabled: boolean): StreamState<never> {
  return { status: isEnabled ? 'connecting' : 'off', frame: undefined, frames: NO_FRAMES, error: undefined }
}

function withFrames<Frame>(before: StreamState<Frame>, arrived: readonly Frame[], keep: number): StreamState<Frame> {
  const frames = [...before.frames, ...arrived].slice(-keep)
  return { ...before, status: 'streaming', frame: frames.at(-1), frames }
}
