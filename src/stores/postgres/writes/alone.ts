/** A request with a statement or a transaction of its own, among the batches. */
import type { Session } from '../connect/session.ts'
import type { Batches, Item, Shape } from './batches.ts'
import type { Terms } from './request.ts'

export function alone<T>(
  batches: Pick<Batches, 'add'>,
  key: string,
  run: (session: Session, uncertain: boolean) => Promise<T>,
  terms?: Terms,
): Promise<T> {
  const shape: Shape<undefined, T> = {
    key,
    most: 1,
    async run(session, items) {
      const [item] = items as readonly [Item<undefined, T>]
      item.done(await run(session, item.uncertain))
    },
  }
  return batches.add(shape, undefined, terms)
}
