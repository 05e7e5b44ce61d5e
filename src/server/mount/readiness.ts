/** `/ready`: whether a load balancer should send calls here, and every check with its reason. It names no host. */
import type { Answer } from '../../core/ports/exchange.ts'
import type { StoreTrouble } from '../../core/ports/store.ts'
import type { Health } from '../../engine/follow/health.ts'
import type { CarrierState } from './wired/index.ts'

export interface ReadinessParts {
  draining: () => boolean
  health: Pick<Health, 'storageFault' | 'troubles' | 'objectsFault'>
  /** The state of each carrier beside HTTP, by name. */
  carriers: () => Readonly<Record<string, CarrierState>>
}

interface Check {
  ok: boolean
  reason?: Reason
}

type Reason = 'draining' | 'storage-unavailable' | 'objects-unavailable' | StoreTrouble

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

/**
 * Objects that cannot be reached do not make the server unready: all nodes have the same, and most calls need none. Nor
 * does a broker that is away: the server still serves HTTP, and reconnects by itself.
 */
export function readiness({ draining, health, carriers }: ReadinessParts): Answer {
  const trouble = (among: readonly StoreTrouble[]) => health.troubles.find((one) => among.includes(one))
  const checks = {
    accepting: checkOf(draining() && 'draining'),
    store: checkOf(health.storageFault && 'storage-unavailable'),
    schema: checkOf(trouble(['migrations-pending', 'schema-newer'])),
    clock: checkOf(trouble(['clock-jumped'])),
    objects: checkOf(health.objectsFault && 'objects-unavailable'),
  }
  const { objects, ...needed } = checks
  const failed = Object.values(needed).find(({ ok }) => !ok)
  const status = failed?.reason ?? (objects.ok ? 'ok' : 'degraded')
  const states = carriers()
  const body = { status, checks, ...(Object.keys(states).length > 0 && { carriers: states }) }
  return { status: failed ? 503 : 200, headers: HEADERS, body: JSON.stringify(body) }
}

function checkOf(reason: Reason | false | undefined): Check {
  return reason ? { ok: false, reason } : { ok: true }
}
