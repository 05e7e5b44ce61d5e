/** One timer for the clocks of all clients. */

/** `setTimeout` takes no longer delay: it would run at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** Runs once after `ms`. Returns a function that cancels it. */
export function schedule(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, Math.min(Math.max(0, ms), MAX_DELAY_MS))
  return () => clearTimeout(timer)
}
