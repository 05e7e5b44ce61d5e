/** What was called in this browser, and calls that a person saved: in IndexedDB, for this server and this caller only. */

export interface PastCall {
  id: number
  op: string
  wire: string
  /** Without sensitive fields. */
  argsText: string
  /** Milliseconds since 1970. */
  at: number
  durationMs: number
  outcome: 'value' | 'file' | 'stream-ended' | 'failed' | 'canceled'
  code?: string
  message?: string
  /** JSON text of the result, if it is not too long. */
  json?: string
  /** Exchanges as the page shows them, with masked credentials. */
  exchanges: readonly unknown[]
}

export interface SavedCall {
  id: number
  name: string
  op: string
  wire: string
  argsText: string
}

export interface CallHistory {
  add(call: Omit<PastCall, 'id'>): Promise<number>
  /** Newest first. */
  list(): Promise<PastCall[]>
  get(id: number): Promise<PastCall | undefined>
  clear(): Promise<void>
  save(call: Omit<SavedCall, 'id'>): Promise<number>
  saved(): Promise<SavedCall[]>
  forget(id: number): Promise<void>
}

const MAX_CALLS = 200
export const MAX_KEPT_JSON = 512 * 1024

/** `undefined` if the browser refuses storage. */
export function historyOf(base: string, { tenant, owner }: { tenant: string; owner: string }): CallHistory | undefined {
  try {
    const { indexedDB } = globalThis
    return indexedDB && openHistory(indexedDB, JSON.stringify([base, tenant, owner]))
  } catch {
    return undefined
  }
}

/** `owner` is the server and the caller. */
function openHistory(factory: IDBFactory, owner: string): CallHistory {
  let opened: Promise<IDBDatabase> | undefined
  const database = () => (opened ??= open(factory))
  const inStore = async <T>(name: Store, mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>) => {
    const store = (await database()).transaction(name, mode).objectStore(name)
    return promised(act(store))
  }
  const listed = async <T>(name: Store): Promise<T[]> => {
    const all = await inStore(name, 'readonly', (store) => store.index('owner').getAll(owner))
    return (all as T[]).reverse()
  }
  const history: CallHistory = {
    async add(call) {
      const id = await inStore('calls', 'readwrite', (store) => store.add({ ...call, owner }))
      for (const old of (await history.list()).slice(MAX_CALLS)) {
        await inStore('calls', 'readwrite', (store) => store.delete(old.id))
      }
      return Number(id)
    },
    list: () => listed<PastCall>('calls'),
    get: (id) =>
      inStore('calls', 'readonly', (store) => store.get(id)).then((call) => (call?.owner === owner ? call : undefined)),
    async clear() {
      for (const { id } of await history.list()) await inStore('calls', 'readwrite', (store) => store.delete(id))
    },
    save: async (call) => Number(await inStore('saved', 'readwrite', (store) => store.add({ ...call, owner }))),
    saved: () => listed<SavedCall>('saved'),
    async forget(id) {
      await inStore('saved', 'readwrite', (store) => store.delete(id))
    },
  }
  return history
}

type Store = 'calls' | 'saved'

function open(factory: IDBFactory): Promise<IDBDatabase> {
  const request = factory.open('callplane-explorer', 1)
  request.onupgradeneeded = () => {
    for (const name of ['calls', 'saved'] satisfies Store[]) {
      request.result.createObjectStore(name, { keyPath: 'id', autoIncrement: true }).createIndex('owner', 'owner')
    }
  }
  return promised(request)
}

function promised<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('The browser could not keep the history.'))
  })
}

/** Saved calls as a file that a person can send to another. */
export function exportSaved(calls: readonly SavedCall[]): string {
  const listed = calls.map(({ name, op, wire, argsText }) => ({ name, op, wire, args: argsText }))
  return `${JSON.stringify({ callplane: 'saved-calls', version: 1, calls: listed }, null, 2)}\n`
}

/** `undefined` if the text is no such file. */
export function importSaved(text: string): Omit<SavedCall, 'id'>[] | undefined {
  try {
    const { callplane, calls } = JSON.parse(text) as { callplane?: unknown; calls?: unknown }
    if (callplane !== 'saved-calls' || !Array.isArray(calls)) return undefined
    const read = calls.map((call: Record<string, unknown>) => ({
      name: textIn(call.name),
      op: textIn(call.op),
      wire: textIn(call.wire),
      argsText: textIn(call.args),
    }))
    return read.every(({ name, op }) => name !== '' && op !== '') ? read : undefined
  } catch {
    return undefined
  }
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
