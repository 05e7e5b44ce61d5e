/** Before a call is started some time after it was leased: whether the lease still counts. */
import type { Instance } from '../../core/call/instance.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'

export interface LeaseParts {
  env: Pick<Environment, 'clock' | 'log'>
  store: Pick<Store, 'extend'>
  leaseMs: number
}

/**
 * True if the lease is new: a running call renews it after a third of its time. An older one is renewed, because it may be
 * over, and another node may run the call. False if one does, or if the renewal fails. Then this node must not start the
 * call. `leasedMs` is on the monotonic clock, from before the write that leased the call.
 */
export function stillLeased(parts: LeaseParts, instance: Instance, leasedMs: number): true | Promise<boolean> {
  const { env, leaseMs } = parts
  return env.clock.monotonicMs() - leasedMs <= leaseMs / 3 || renewed(parts, instance)
}

async function renewed({ env, store, leaseMs }: LeaseParts, { id, attempt, operation }: Instance): Promise<boolean> {
  try {
    const [renewal] = await store.extend([{ id, attempt }], leaseMs)
    return renewal?.held === true
  } catch (err) {
    env.log.warn({ err, operation }, 'could not renew the lease of a call before its start; it runs later')
    return false
  }
}
