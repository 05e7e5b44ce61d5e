/**
 * Runs ended calls again, for operators. The plan says which calls are replayed under which ids. It is stored before the
 * first call starts, so that an interrupted replay goes on with the same calls, and starts each of them once.
 */
import { type Caller, ownerOf } from '../../../core/call/caller.ts'
import type { HandlerContext } from '../../../core/call/context.ts'
import type { Instance } from '../../../core/call/instance.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonObject } from '../../../core/json.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { hasScope, SCOPES } from '../../../core/operation/scopes.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import type { Replaying } from '../../replay/replaying.ts'
import { marking } from '../dead-letters/marks.ts'
import { ID, OTHER_ARGS } from '../shapes.ts'
import { inTurns } from './in-turns.ts'
import { type Selection, type SelectParts, selectCalls, selecting } from './selection.ts'

export interface ReplayParts extends SelectParts {
  replaying: Pick<Replaying, 'newId' | 'start'>
  clock: Clock
}

interface ReplayArgs extends Selection {
  /** Instead of the arguments of the one call. */
  args?: JsonObject
  as: 'owner' | 'me'
  why: string
}

export interface Replayed {
  started: { from: string; id: string; requestId: string }[]
  refused: { id: string; code: string; message: string }[]
}

/** Which call is replayed under which id. */
type Plan = readonly (readonly [from: string, id: string])[]

/** Longer than the replay can be open. If the plan went first, a second attempt would start all calls again. */
const PLAN_MS = 2 * 86_400_000
/** How often a call is tried again that found no room. */
const MOST_TRIES = 60

const NAME = 'v1:callplane.calls.replay'

export function replayCalls(parts: () => ReplayParts) {
  return operation(NAME, {
    description:
      'Runs ended calls again, each as a new call. The policy decides again. Earlier approvals do not count.',
    internal: true,
    scopes: [SCOPES.replay],
    model: 'async',
    sideEffecting: true,
    retry: { attempts: 5, backoffMs: 500, maxBackoffMs: 10_000 },
    args: jsonSchema<ReplayArgs>(
      selecting({ args: { type: 'object', ...OTHER_ARGS }, as: { enum: ['owner', 'me'] } }, ['as']),
    ),
    result: jsonSchema<Replayed>({
      type: 'object',
      required: ['started', 'refused'],
      properties: {
        started: { type: 'array', items: { type: 'object', required: ['from', 'id', 'requestId'] } },
        refused: {
          type: 'array',
          items: { type: 'object', required: ['id', 'code', 'message'], properties: { id: ID } },
        },
      },
    }),
    run: (args, ctx) => replaySelected(parts(), args, ctx),
  })
}

async function replaySelected(parts: ReplayParts, args: ReplayArgs, ctx: HandlerContext): Promise<Replayed> {
  if (args.args && args.ids?.length !== 1) {
    throw new Fault('invalid-input', 'Other arguments can be given for one call only. Send one id.')
  }
  const plan = await planOf(parts, args, ctx)
  let ended = 0
  const outcomes = await inTurns(plan, async ([from, id]) => {
    const refusal = await replayOne(parts, from, id, args, ctx)
    ctx.progress(++ended / plan.length, `${ended} of ${plan.length}`)
    return { from, id, refusal }
  })
  return {
    started: outcomes.flatMap(({ from, id, refusal }) => (refusal ? [] : [{ from, id, requestId: id }])),
    refused: outcomes.flatMap(({ from: id, refusal }) =>
      refusal ? [{ id, code: refusal.code, message: refusal.message }] : [],
    ),
  }
}

/** The plan of this call. A second attempt finds the plan of the first one. */
async function planOf(parts: ReplayParts, args: ReplayArgs, ctx: HandlerContext): Promise<Plan> {
  const { store, replaying, clock } = parts
  const { records } = store
  const key = `replay-plan/${ctx.key}`
  const stored = await records.get(key)
  if (stored !== undefined) return JSON.parse(stored) as Plan
  const { caller } = ctx
  const selected = await selectCalls(parts, ctx, args, NAME)
  const plan = await inTurns(selected, async (from): Promise<Plan[number]> => {
    const owner = args.as === 'me' ? ownerOf(caller) : ((await store.get(from))?.owner ?? '')
    return [from, replaying.newId(caller, owner)]
  })
  if (await records.add(key, JSON.stringify(plan), clock.now() + PLAN_MS)) return plan
  return JSON.parse((await records.get(key)) ?? '[]') as Plan
}

/** Returns why the call is not replayed. */
async function replayOne(
  { store, replaying, clock }: ReplayParts,
  from: string,
  id: string,
  { as, args, ids }: ReplayArgs,
  ctx: HandlerContext,
): Promise<Fault | undefined> {
  const { caller, key, signal } = ctx
  const original = await store.get(from)
  if (original?.tenant !== caller.tenant) return new Fault('not-found', 'There is no such call, or it has expired.')
  const refusal = refusalOf(original, as, args, caller)
  if (refusal) return refusal
  const replay = {
    id,
    key: `replay:${key}:${from}`,
    caller: as === 'me' ? caller : original.caller,
    by: ownerOf(caller),
    ...(args && { args }),
    // A filter may match a call that another operator is replaying. An id is meant.
    records: [marking(original, { replay: id }, ids === undefined)],
  }
  for (let tries = 1; ; tries++) {
    try {
      signal.throwIfAborted()
      await replaying.start(original, replay)
      return undefined
    } catch (thrown) {
      if (signal.aborted) throw signal.reason
      const fault = Fault.from(thrown)
      if (fault.ofStorage) throw fault
      const hasNoRoom = fault.kind === 'overloaded' || fault.kind === 'rate-limited'
      if (!hasNoRoom || tries >= MOST_TRIES) return fault
      await pause(clock, fault.retryAfterMs ?? 1_000)
    }
  }
}

/**
 * With other arguments it would be a call that its owner never made. With the owner's arguments, its result could show
 * them to the person who replays it.
 */
function refusalOf(
  original: Instance,
  as: ReplayArgs['as'],
  args: JsonObject | undefined,
  caller: Caller,
): Fault | undefined {
  if (original.owner === ownerOf(caller)) return undefined
  if (as === 'me') {
    if ((args && !hasMoreInput(original)) || hasScope(caller, SCOPES.payloads)) return undefined
    const needed = `Its arguments, attachments and replies are those of another caller, so replaying it as yourself needs the scope ${SCOPES.payloads}. Replay it as its first caller, or ask for the scope.`
    return new Fault('forbidden', needed, { details: { required: [SCOPES.payloads], missing: [SCOPES.payloads] } })
  }
  if (!args) return undefined
  const message = 'A call with other arguments cannot run as its first caller. Replay it as yourself.'
  return new Fault('forbidden', message, { code: 'EDITED_FOR_OTHER' })
}

/** Input besides the arguments: attachments, and replies to questions. A replay takes them over. */
function hasMoreInput({ media, extras }: Instance): boolean {
  return media.length > 0 || Object.keys(extras?.asking?.answers ?? {}).length > 0
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.schedule(ms, resolve))
}
