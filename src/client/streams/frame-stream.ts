/** The frames of a stream, as a program sees them. */

/** Loop over it with `for await`. Leaving the loop ends the subscription. */
export interface FrameStream<Frame> extends AsyncIterable<Frame> {
  /** Ends the loop and the subscription. */
  close(): void
}
