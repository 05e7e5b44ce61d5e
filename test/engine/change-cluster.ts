/** Processes that pass changes to each other through the records of a store. The test moves their clock. */
import type { Records } from '../../src/core/ports/store.ts'
import type { Noted } from '../../src/engine/changes/change.ts'
import { ChangeFeed } from '../../src/engine/changes/change-feed.ts'
import { SharedChanges } from '../../src/engine/changes/shared-changes.ts'
import type { Approval } from '../../src/engine/wait/approvals.ts'
import { createManualClock, type ManualClock } from '../../src/testing/fakes/clock.ts'

export type SharedRecords = Pick<Records, 'put' | 'get' | 'list' | 'remove'>

/** Records in memory. */
async function createRecords(clock: ManualClock): Promise<SharedRecords> {
  const entries = new Map<string, { value: string; expiresAt: number }>()
  const alive = (key: string) => {
    const entry = entries.get(key)
    return entry && entry.expiresAt > clock.now() ? entry.value : undefined
  }
  return {
    put: async (key, value, expiresAt = Number.POSITIVE_INFINITY) => void entries.set(key, { value, expiresAt }),
    get: async (key) => alive(key),
    remove: async (key) => void entries.delete(key),
    list: async (prefix, limit, after = '') =>
      [...entries.keys()]
        .filter((key) => key.startsWith(prefix) && key > after && alive(key) !== undefined)
        .sort()
        .slice(0, limit)
        .map((key) => ({ key, value: alive(key) as string })),
  }
}

/** `openRecords` is called once for each process. */
export function openCluster(openRecords?: (clock: ManualClock) => Promise<SharedRecords>) {
  const clock = createManualClock()
  const inMemory = createRecords(clock)
  const listening = new Map<string, () => unknown>()

  let pending = 0
  /** Lets everything happen that is due. */
  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < 10; quiet = pending > 0 ? 0 : quiet + 1) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async function openProcess(node: string) {
    const records = await (openRecords?.(clock) ?? inMemory)
    let changed: ((approval: Approval) => void) | undefined
    const state = { canReach: true, canWrite: true, hears: true }
    const reach = async <T>(run: () => Promise<T>): Promise<T> => {
      if (!state.canReach) throw new Error('The store is away.')
      pending++
      try {
        return await run()
      } finally {
        pending--
      }
    }
    const feed = new ChangeFeed({
      clock,
      store: { listen: () => () => {} },
      approvals: {
        listen(told) {
          changed = told
          return () => {
            changed = undefined
          }
        },
      },
      node,
    })
    const shared = new SharedChanges({
      clock,
      log: { info() {}, warn() {}, error() {}, debug() {} } as never,
      records: {
        put: (...args) => reach(() => (state.canWrite ? records.put(...args) : Promise.reject(new Error('Full.')))),
        get: (key) => reach(() => records.get(key)),
        list: (...args) => reach(() => records.list(...args)),
      },
      feed,
      node,
      siblings: {
        anyoneElse(_topic, here) {
          listening.set(node, () => state.hears && here(''))
          return async () => {
            for (const [other, told] of listening) if (other !== node) told()
            return false
          }
        },
      },
    })
    await shared.start()
    return {
      state,
      records,
      shared,
      feed,
      /** Something changes in this process. */
      change(id: string, count = 1): void {
        const approval = {
          tenant: 'main',
          operation: 'v1:shop.pay@1.0.0',
          status: 'pending',
          owner: 'ada',
          createdAt: 1,
        }
        for (let n = 0; n < count; n++) changed?.({ ...approval, id: count === 1 ? id : `${id}-${n}` } as Approval)
      },
      ask: (after?: string) =>
        feed.wait({
          tenant: 'main',
          passes: (_: Noted) => true,
          waitMs: 0,
          signal: new AbortController().signal,
          ...(after !== undefined && { after }),
        }),
      /** It ends at once, without a word. */
      kill(): void {
        state.canReach = false
        state.hears = false
        changed = undefined
        feed.onNoted = undefined
      },
    }
  }

  return {
    openProcess,
    /** In steps, because a pass schedules the next one when it has ended. */
    async advance(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= 250) {
        clock.advance(Math.min(250, left))
        await settle()
      }
    },
  }
}

/** Two processes. An operator waits at `here`, and all that belongs to the beginning is over. */
export async function openSettled(openRecords?: (clock: ManualClock) => Promise<SharedRecords>) {
  const cluster = openCluster(openRecords)
  const here = await cluster.openProcess('here')
  const there = await cluster.openProcess('there')
  await here.ask()
  await cluster.advance(15_000)
  return { ...cluster, here, there, after: (await here.ask()).next }
}

export const idsOf = ({ events }: { events: Noted[] }) => events.map(({ id }) => id)

/** The batches are gone before anybody has read them. */
export async function loseBatches(records: SharedRecords): Promise<void> {
  for (const { key } of await records.list('changes-batch/', 1_000)) await records.remove(key)
}
