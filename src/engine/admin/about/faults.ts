/** Every failure that a caller can get: its meaning, its remedy, and its form in each protocol. */
import type { Caller } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { operation } from '../../../core/operation/define.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { hasScope } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import type { Registry } from '../../registry.ts'
import { NOTHING } from '../shapes.ts'

/** The status and the code that each protocol sends, by its name. Absent if the protocol has no such failure. */
export type Wires = Readonly<Record<string, { status?: number; code?: string | number }>>

export interface FaultInfo {
  kind: string
  code: string
  retryable: boolean
  meaning: string
  remedy: string
  /** The operations that declare it. Absent: every operation can have it. */
  operations?: string[]
  wires: Wires
}

export interface FaultsParts {
  registry: Pick<Registry, 'list' | 'listInternal'>
  clock: Clock
  faults: {
    /** The failures that every operation can have. */
    service(): readonly FaultInfo[]
    /** The form of a failure in each protocol. */
    wires(fault: Fault): Wires
  }
}

export function listFaults(parts: () => FaultsParts) {
  return operation('v1:callplane.faults.list', {
    description: 'Lists every error code with its meaning, what to do about it, and its form in each protocol.',
    internal: true,
    args: jsonSchema<Record<string, never>>(NOTHING),
    result: jsonSchema<{ faults: FaultInfo[] }>({
      type: 'object',
      required: ['faults'],
      properties: {
        faults: { type: 'array', items: { type: 'object', required: ['kind', 'code', 'meaning', 'remedy', 'wires'] } },
      },
    }),
    run: (_, { caller }) => ({ faults: faultsFor(parts(), caller) }),
  })
}

function faultsFor({ registry, clock, faults }: FaultsParts, caller: Caller): FaultInfo[] {
  const now = clock.now()
  const mayCall = ({ scopes }: Operation) => scopes.every((scope) => hasScope(caller, scope))
  const operations = [...registry.list(now), ...registry.listInternal(now).filter(mayCall)]
  return [...faults.service(), ...declaredBy(operations, faults.wires)]
}

/** Operations that declare the same code with the same words share one entry. */
function declaredBy(operations: readonly Operation[], wires: FaultsParts['faults']['wires']): FaultInfo[] {
  const found = new Map<string, FaultInfo>()
  for (const { name, errors } of operations) {
    for (const [code, { description, remedy = '', retryable = false }] of Object.entries(errors)) {
      const key = JSON.stringify([code, description, remedy, retryable])
      const known = found.get(key)
      if (known) known.operations?.push(name.full)
      else {
        const fault = new Fault('domain', description, { code, ownCode: true, retryable })
        const { kind } = fault
        const operations = [name.full]
        found.set(key, { kind, code, retryable, meaning: description, remedy, operations, wires: wires(fault) })
      }
    }
  }
  return [...found.values()]
}
