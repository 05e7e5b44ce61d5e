/** Repeats a read after a lost connection. */
import { type Calling, delayMs } from '../calling.ts'
import { isLost } from '../judge.ts'

const LOST_READS = 8

export async function persist<T>(
  calling: Calling,
  read: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let losses = 0; ; losses++) {
    try {
      return await read()
    } catch (thrown) {
      if (losses >= LOST_READS || !isLost(thrown)) throw thrown
      await calling.pause(delayMs(losses), signal)
    }
  }
}
