/** The parts of the server that the operations about calls use. */
import { type Caller, ownerOf } from '../../../core/call/caller.ts'
import type { Instance } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import { Fault } from '../../../core/fault.ts'
import type { CallFilter, CallPage } from '../../../core/ports/call-list.ts'
import type { Clock, Environment } from '../../../core/ports/runtime.ts'
import type { Store } from '../../../core/ports/store.ts'
import type { Registry } from '../../registry.ts'
import type { Approvals } from '../../wait/approvals.ts'
import { isRevealedText } from './revealed.ts'

export interface CallsParts {
  store: Pick<Store, 'get' | 'find' | 'calls' | 'audit'>
  approvals: Pick<Approvals, 'get'>
  registry: Pick<Registry, 'byKey'>
  clock: Clock
  env: Pick<Environment, 'redact' | 'newId' | 'digest'>
}

/** Of one page. Where no index helps, this takes about 10 ms of CPU time. */
const SCAN = 10_000
/** A search for a text reads the arguments and outcomes, too. */
const TEXT_SCAN = 1_000

export function scanOf({ text }: CallFilter, times = 1): number {
  return text === undefined ? SCAN * times : TEXT_SCAN
}

/**
 * A call by its id, or one of the caller's own by its request id: a client that made a call knows only that. Throws the
 * same fault for a call of another tenant as for none.
 */
export async function callOf({ store, clock }: CallsParts, caller: Caller, id: string): Promise<Instance> {
  const { tenant } = caller
  const instance = (await store.get(id)) ?? (await store.find(tenant, ownerOf(caller), id))
  const isKept = instance && (!isTerminal(instance.state) || instance.keepUntil > clock.now())
  if (isKept && instance.tenant === tenant) return instance
  throw new Fault('not-found', `There is no call "${id}". It may be past its retention: list the calls to find the id.`)
}

export interface PageQuery {
  tenant: string
  filter: CallFilter
  limit: number
  after?: string
}

/**
 * A page of calls. A text that is only in hidden parts of a call does not find it: otherwise one could guess a secret
 * letter by letter. Such a page has fewer calls, and still names the next one.
 */
export async function readPage(parts: CallsParts, query: PageQuery): Promise<CallPage> {
  const { store } = parts
  const { text } = query.filter
  const page = await store.calls.page({ ...query, scan: scanOf(query.filter) })
  if (text === undefined) return page
  const calls = await Promise.all(
    page.calls.map(async (call) => {
      const instance = await store.get(call.id)
      return instance && isRevealedText(parts, instance, text) ? [call] : []
    }),
  )
  return { ...page, calls: calls.flat() }
}
