/** Cancels calls of any caller in the tenant, for operators. */
import type { Caller } from '../../../core/call/caller.ts'
import type { HandlerContext } from '../../../core/call/context.ts'
import type { Instance } from '../../../core/call/instance.ts'
import { Fault } from '../../../core/fault.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { Log } from '../../../core/ports/runtime.ts'
import type { Store } from '../../../core/ports/store.ts'
import { hasEnded } from '../../follow/waiting.ts'
import { ID } from '../shapes.ts'
import { inTurns } from './in-turns.ts'
import { type Selection, type SelectParts, selectCalls, selecting } from './selection.ts'

export interface CancelParts extends SelectParts {
  log: Log
  /** Ends the call, or asks the node that runs it to stop it. Does not wait for the end. */
  stopCall(instance: Instance): Promise<void>
}

export interface Done {
  done: string[]
  skipped: { id: string; why: string }[]
}

export const DONE_SCHEMA = {
  type: 'object',
  required: ['done', 'skipped'],
  properties: {
    done: { type: 'array', items: ID },
    skipped: { type: 'array', items: { type: 'object', required: ['id', 'why'] } },
  },
}

const NAME = 'v1:callplane.calls.cancel'

export function cancelCalls(parts: () => CancelParts) {
  return operation(NAME, {
    description: 'Cancels calls by their ids, or all that match a filter. Calls that have ended are skipped.',
    internal: true,
    scopes: [SCOPES.operate],
    sideEffecting: true,
    // A call can be canceled only once, so a repeated request has no second effect.
    idempotencyRequired: false,
    args: jsonSchema<Selection & { why: string }>(selecting()),
    result: jsonSchema<Done>(DONE_SCHEMA),
    run: (args, ctx) => cancelSelected(parts(), args, ctx),
  })
}

async function cancelSelected(
  parts: CancelParts,
  args: Selection & { why: string },
  ctx: HandlerContext,
): Promise<Done> {
  const { store, log, stopCall } = parts
  const { caller } = ctx
  const selected = await selectCalls(parts, ctx, args, NAME)
  log.info({ calls: selected.length, by: caller.subject, why: args.why }, 'an operator cancels calls')
  return actOnEach(store, caller, selected, async (instance) => {
    if (hasEnded(instance)) return 'It has ended.'
    await stopCall(instance)
    return undefined
  })
}

/** Acts on each call of the tenant. `act` returns why it skips a call. */
export async function actOnEach(
  store: Pick<Store, 'get'>,
  { tenant }: Caller,
  ids: readonly string[],
  act: (instance: Instance) => Promise<string | undefined>,
): Promise<Done> {
  const outcomes = await inTurns(ids, async (id) => {
    const instance = await store.get(id)
    if (instance?.tenant !== tenant) return { id, why: 'There is no such call, or it has expired.' }
    try {
      return { id, why: await act(instance) }
    } catch (thrown) {
      return { id, why: Fault.from(thrown).message }
    }
  })
  return {
    done: outcomes.flatMap(({ id, why }) => (why === undefined ? [id] : [])),
    skipped: outcomes.flatMap(({ id, why }) => (why === undefined ? [] : [{ id, why }])),
  }
}
