/** Runs checks side by side, because most of a check is waiting. */

/** More at once would be an unusual load for the server under test. */
const AT_ONCE = 8

/** Runs `act` for every item, in order, a few at a time. A rejection has to be handled only if its promise is used. */
export function sideBySide<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R>[] {
  const waiting: (() => void)[] = []
  let running = 0

  async function run(item: T): Promise<R> {
    if (running < AT_ONCE) running++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await act(item)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }

  return items.map((item) => {
    const result = run(item)
    result.catch(() => {})
    return result
  })
}
