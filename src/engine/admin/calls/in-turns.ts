/** Acts on many calls, a few at a time, so that other calls are not held up. */

const AT_ONCE = 16

/** The results are in the order of the items. The first error ends it. */
export async function inTurns<T, R>(items: readonly T[], act: (item: T, at: number) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length)
  let next = 0
  const work = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await act(items[at] as T, at)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work))
  return results
}
