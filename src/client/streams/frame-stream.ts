/** The frames of a subscription. */

/** Leaving the loop ends the subscription. */
export interface FrameStream<Frame> extends AsyncIterable<Frame>, AsyncDisposable {
  /** Ends the subscription. */
  close(): Promise<void>
}
