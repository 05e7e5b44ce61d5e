/** Before a call is started some time after it was leased: whether the lease still counts. */
import type { Instance } from '../../core/call/instance.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'

export interface LeaseParts {
  env: Pick<Environment, 'clock' | 'log'>
  store: Pick<Store, 'extend'>
  leaseMs: number
  /** True if this node starts no more calls. */
  stopped(): boolean
}

/** A running call renews its lease after a third of its time. So a call must not start with less than the rest. */
const LEAST_LEFT = 2 / 3

/**
 * True if the lease is new. An older one is renewed, because it may be over, and another node may run the call. False if
 * this node must not start the call: another node has claimed it, its stop was requested, the renewal failed, or this
 * node stops. Then the call must be given back, so that it does not count as interrupted.
 */
export function stillLeased(parts: LeaseParts, instance: Instance): true | Promise<boolean> {
  const leftMs = (instance.dueAt ?? 0) - parts.env.clock.now()
  return leftMs >= parts.leaseMs * LEAST_LEFT || renewed(parts, instance)
}

async function renewed(parts: LeaseParts, { id, attempt, operation }: Instance): Promise<boolean> {
  const { env, store, leaseMs, stopped } = parts
  try {
    const [renewal] = await store.extend([{ id, attempt }], leaseMs)
    return renewal?.held === true && !renewal.stopRequested && !stopped()
  } catch (err) {
    env.log.warn({ err, operation }, 'could not renew the lease of a call before its start; it runs later')
    return false
  }
}
