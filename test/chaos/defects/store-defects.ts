/** Defects of a store, each around a store that is right. They use the port only, so they fit every version of it. */
import type { Instance } from '../../../src/core/call/instance.ts'
import type { RecordChange, Store } from '../../../src/core/ports/store.ts'

/** The store with some of its methods replaced. */
function over(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name in changes) return Reflect.get(changes, name)
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const STALE_MS = 3_000
const ANY_STATE = ['accepted', 'pending', 'streaming', 'complete', 'error'] as const

export const STORE_DEFECTS: Readonly<Record<string, (store: Store) => Store>> = {
  'no-fence': (store) => over(store, { advance: ({ attempt: _, ...change }) => store.advance(change) }),

  'early-acknowledgement': (store) =>
    over(store, {
      async accept(instance, more) {
        void store.accept(instance, more).catch(() => undefined)
        return { kind: 'created' }
      },
    }),

  'own-clock': (store) => over(store, { now: () => Date.now() }),

  'deaf-watchers': (store) => {
    const own = new Set<string>()
    return over(store, {
      accept(instance, more) {
        own.add(instance.id)
        return store.accept(instance, more)
      },
      async claim(claim) {
        const claimed = await store.claim(claim)
        for (const { id } of claimed.instances) own.add(id)
        return claimed
      },
      watch: (id, changed) => store.watch(id, (instance) => void (own.has(id) && changed(instance))),
    })
  },

  'keys-not-unique': (store) =>
    over(store, { accept: ({ idempotencyKey: _, ...instance }, more) => store.accept(instance, more) }),

  'stale-reads': (store) => {
    const read = new Map<string, { instance: Instance; atMs: number }>()
    return over(store, {
      async find(tenant, owner, requestId) {
        const key = [tenant, owner, requestId].join(' ')
        const before = read.get(key)
        if (before && performance.now() - before.atMs < STALE_MS) return before.instance
        const instance = await store.find(tenant, owner, requestId)
        if (instance) read.set(key, { instance, atMs: performance.now() })
        return instance
      },
    })
  },

  'ends-overwritten': (store) =>
    over(store, { advance: ({ attempt: _, ...change }) => store.advance({ ...change, from: ANY_STATE }) }),

  'open-to-others': (store) => {
    const ids = new Map<string, string>()
    return over(store, {
      accept(instance, more) {
        ids.set(instance.requestId, instance.id)
        return store.accept(instance, more)
      },
      async find(tenant, owner, requestId) {
        const own = await store.find(tenant, owner, requestId)
        const id = ids.get(requestId)
        return own ?? (id === undefined ? undefined : store.get(id))
      },
    })
  },

  'grants-used-twice': (store) => {
    const isUse = ({ value }: RecordChange) => value?.includes('"status":"used"') === true
    return over(store, {
      accept: (instance, more) => store.accept(instance, more?.records?.some(isUse) ? { ...more, records: [] } : more),
    })
  },
}
