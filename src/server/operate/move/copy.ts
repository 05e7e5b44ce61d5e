/** Copies calls with their attempts, aliases, records and audit entries from one store to another. */
import type { Instance } from '../../../core/call/instance.ts'
import { Fault } from '../../../core/fault.ts'
import type { Acceptance, Store } from '../../../core/ports/store.ts'
import type { CallAttempts, Page, StoreDump } from '../../../core/ports/store-dump.ts'
import { isOwnRecord } from '../../open/moving.ts'

/** Rows that are read and written together. The target puts them into a few statements. */
const PAGE = 500

type Progress = (what: string, count: number) => void

/** Adds the attempts to calls of the target. The store's own port cannot: a store writes attempts as they happen. */
export type WriteAttempts = (all: readonly CallAttempts[]) => Promise<void>

export async function copyStore(
  source: Store & { dump: StoreDump },
  target: Store,
  writeAttempts: WriteAttempts,
  progress: Progress,
): Promise<void> {
  const { dump } = source
  let count = 0
  const step = (what: string, items: number) => {
    count += items
    progress(what, count)
  }
  for await (const items of pagesOf((after) => dump.calls(PAGE, after))) {
    await Promise.all(items.map(async (instance) => requireOurs(await target.accept(instance), instance)))
    step('calls', items.length)
  }
  count = 0
  for await (const items of pagesOf((after) => dump.attempts(PAGE, after))) {
    await writeAttempts(items)
    step('calls with attempts', items.length)
  }
  count = 0
  for await (const items of pagesOf((after) => dump.aliases(PAGE, after))) {
    // An alias that is there already is taken by itself.
    await Promise.all(items.map((alias) => target.alias(alias)))
    step('aliases', items.length)
  }
  count = 0
  for await (const items of recordsOf(dump)) {
    await Promise.all(items.map(({ key, value, expiresAt }) => target.records.put(key, value, expiresAt)))
    step('records', items.length)
  }
  count = 0
  for (const tenant of await dump.tenants())
    for await (const entries of entriesOf(source, tenant)) {
      await Promise.all(entries.map((entry) => target.audit.append(entry)))
      step('audit entries', entries.length)
    }
}

/** A call that is there already has its own request id. */
function requireOurs(acceptance: Acceptance, { id }: Instance): void {
  if (acceptance.kind === 'created') return
  if (acceptance.kind !== 'records-differ' && acceptance.instance.id === id) return
  throw new Fault('conflict', `The target has another call in the place of ${id}. Move into an empty schema.`, {
    code: 'TARGET_NOT_EMPTY',
  })
}

export async function* pagesOf<T>(read: (after?: number) => Promise<Page<T>>): AsyncGenerator<readonly T[]> {
  let page = await read()
  if (page.items.length > 0) yield page.items
  while (page.next !== undefined) {
    page = await read(page.next)
    if (page.items.length > 0) yield page.items
  }
}

export async function* recordsOf(dump: StoreDump) {
  let page = await dump.records(PAGE)
  while (page.length > 0) {
    yield page.filter(({ key }) => !isOwnRecord(key))
    page = await dump.records(PAGE, page.at(-1)?.key)
  }
}

export async function* entriesOf({ audit }: Pick<Store, 'audit'>, tenant: string) {
  let page = await audit.list({ tenant, limit: PAGE })
  while (page.length > 0) {
    yield page
    page = await audit.list({ tenant, limit: PAGE, before: page.at(-1)?.id as string })
  }
}
