/** Operators wait for changes of calls and approvals: by a request that waits, or by a stream. */
import type { Caller } from '../../../core/call/caller.ts'
import type { JsonObject } from '../../../core/json.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { type ChangeKind, type Noted, passes } from '../../changes/change.ts'
import type { ChangeFeed } from '../../changes/change-feed.ts'
import { CALL_FILTER, type CallFilterArgs, parseCallFilter } from '../calls/filter.ts'
import { ID, record, TIME, timeText } from '../shapes.ts'

export interface ChangesParts {
  clock: Pick<Clock, 'now'>
  changes: Pick<ChangeFeed, 'wait'>
}

export interface Change {
  /** `reset`: changes may have been missed, so the lists must be read again. Only the stream says it this way. */
  kind: ChangeKind | 'reset'
  /** Of a call or an approval. In a `reset`, the cursor after it. */
  id: string
  operation: string
  state: string
  at: string
}

interface ChangesArgs {
  after?: string
  kinds?: ChangeKind[]
  filter?: CallFilterArgs
}

interface Changes {
  events: Change[]
  /** Pass it as `after` to hear what comes next. */
  next: string
  /** Changes may have been missed: read the lists again. */
  reset?: true
}

const MOST_WAIT_MS = 25_000

const ASKED = {
  after: ID,
  kinds: { type: 'array', minItems: 1, maxItems: 2, uniqueItems: true, items: { enum: ['call', 'approval'] } },
  filter: record(CALL_FILTER),
} satisfies Record<string, JsonObject>

function changeOf(...kinds: Change['kind'][]): JsonObject {
  return {
    type: 'object',
    required: ['kind', 'id', 'operation', 'state', 'at'],
    properties: { kind: { enum: kinds }, id: ID, operation: {}, state: {}, at: TIME },
  }
}

export function waitForChanges(parts: () => ChangesParts) {
  return operation('v1:callplane.changes.wait', {
    description: 'Waits until calls or approvals change, and returns the changes. An empty list means: ask again.',
    internal: true,
    scopes: [SCOPES.read],
    slotless: true,
    maxSyncMs: MOST_WAIT_MS + 10_000,
    args: jsonSchema<ChangesArgs & { waitMs?: number }>(
      record({ ...ASKED, waitMs: { type: 'integer', minimum: 0, maximum: MOST_WAIT_MS } }),
    ),
    result: jsonSchema<Changes>({
      type: 'object',
      required: ['events', 'next'],
      properties: { events: { type: 'array', items: changeOf('call', 'approval') }, next: ID, reset: { const: true } },
    }),
    async run({ waitMs = MOST_WAIT_MS, ...args }, { caller, signal }) {
      const { events, ...rest } = await parts().changes.wait({ ...askedBy(caller, args), waitMs, signal })
      return { events: events.map(viewOf), ...rest }
    },
  })
}

export function watchChanges(parts: () => ChangesParts) {
  return operation('v1:callplane.changes.watch', {
    description:
      'A stream of the changes of calls and approvals. A frame of the kind `reset` says that changes may have been missed: read the lists again.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<ChangesArgs>(record(ASKED)),
    frame: jsonSchema<Change>(changeOf('call', 'approval', 'reset')),
    async *run(args, { caller, signal }) {
      const asked = askedBy(caller, args)
      for (let after = args.after; !signal.aborted; ) {
        const place = after !== undefined && { after }
        const { events, next, reset } = await parts().changes.wait({ ...asked, ...place, waitMs: MOST_WAIT_MS, signal })
        if (reset) yield resetTo(next, parts().clock.now())
        for (const event of events) yield viewOf(event)
        after = next
      }
    },
  })
}

function askedBy(caller: Caller, { after, kinds, filter = {} }: ChangesArgs) {
  const wanted = parseCallFilter(filter, caller)
  return {
    tenant: caller.tenant,
    ...(after !== undefined && { after }),
    passes: (noted: Noted) => (!kinds || kinds.includes(noted.kind)) && passes(noted, wanted),
  }
}

function viewOf({ kind, id, operation: name, state, at }: Noted): Change {
  return { kind, id, operation: name, state, at: timeText(at) }
}

/** It has the fields of every change, so that readers who do not know this kind can read it. */
function resetTo(next: string, at: number): Change {
  return { kind: 'reset', id: next, operation: '', state: 'reset', at: timeText(at) }
}
