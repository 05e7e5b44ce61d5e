/** Hides dead letters that need nothing more. The calls themselves stay. */
import { ownerOf } from '../../../core/call/caller.ts'
import { isDead } from '../../../core/call/dead-letter.ts'
import { faultIn } from '../../../core/call/instance.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import { actOnEach, DONE_SCHEMA, type Done } from '../calls/cancel.ts'
import { type Selection, type SelectParts, selectCalls, selecting } from '../calls/selection.ts'
import { marking } from './marks.ts'

const NAME = 'v1:callplane.deadletters.dismiss'

export function dismissDeadLetters(parts: () => SelectParts) {
  return operation(NAME, {
    description: 'Hides dead letters, by their ids or by a filter. The calls stay in the list of calls.',
    internal: true,
    scopes: [SCOPES.operate],
    sideEffecting: true,
    // A dead letter can be hidden only once, so a repeated request has no second effect.
    idempotencyRequired: false,
    args: jsonSchema<Selection & { why: string }>(selecting()),
    result: jsonSchema<Done>(DONE_SCHEMA),
    async run({ why, filter, ...more }, ctx) {
      const { caller } = ctx
      const all = parts()
      const { store } = all
      const selection = { ...more, ...(filter && { filter: { ...filter, deadLetter: true as const } }) }
      const selected = await selectCalls(all, ctx, selection, NAME)
      return actOnEach(store, caller, selected, async (instance) => {
        const fault = faultIn(instance.outcome)
        if (!fault || !isDead(fault.kind)) return 'It is no dead letter.'
        const mark = marking(instance, { dismissedBy: ownerOf(caller), why }, true)
        return (await store.records.write([mark])) ? undefined : 'It was dismissed or replayed before.'
      })
    },
  })
}
