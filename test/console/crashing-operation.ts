/** An operation that two servers have: one dies while it runs, the other finishes it. */
import { operation } from 'callplane'

export const count = (work: () => unknown) =>
  operation('v1:stock.count', {
    model: 'async',
    ttlSeconds: 600,
    retry: { attempts: 5, backoffMs: 1 },
    run: async () => {
      await work()
      return 'counted'
    },
  })
