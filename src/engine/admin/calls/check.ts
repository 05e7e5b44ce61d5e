/** Tells a caller what a call would get, without making it. */
import { type Caller, ownerOf } from '../../../core/call/caller.ts'
import { fingerprintOf, storedFingerprint } from '../../../core/call/fingerprint.ts'
import type { Instance } from '../../../core/call/instance.ts'
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import { operation } from '../../../core/operation/define.ts'
import { isKeyed } from '../../../core/operation/keyed.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import type { Clock, Environment } from '../../../core/ports/runtime.ts'
import type { Store } from '../../../core/ports/store.ts'
import type { Checking, MediaNote, Problem } from '../../admit/checking.ts'
import { keyReused } from '../../record/repeats.ts'
import type { Registry } from '../../registry.ts'
import { MAX_PAGE, record, TEXT } from '../shapes.ts'

export interface CheckParts {
  registry: Pick<Registry, 'resolve'>
  checking: Checking
  store: Pick<Store, 'calls' | 'get'>
  clock: Clock
  env: Pick<Environment, 'digest'>
}

interface CheckArgs {
  op: string
  args: JsonObject
  media?: MediaNote[]
  /** The idempotency key that the call would have. */
  key?: string
}

export interface Check {
  valid: boolean
  errors: Problem[]
  normalized?: JsonValue
  verdict: 'allow' | 'deny' | 'hold'
  rule?: string
  reason?: string
  missing: string[]
  /** The earlier approval that the call would use. */
  approval?: string
  /** The call that this one would join, because it has the same key. */
  wouldJoin?: string
  /** `once`: a key keeps a repeat from having the effect again. `repeatable`: nothing does. */
  effects: 'none' | 'once' | 'repeatable'
  risk: string
  /** The first failure that would refuse the call now. */
  refusal?: { code: string; message: string; retryAfterMs?: number }
}

/** Of the newest calls, if the caller has very many. */
const MOST_LOOKED_AT = 20_000

const NOTE = record(
  { name: TEXT, mimeType: TEXT, bytes: { type: 'integer', minimum: 0 }, ref: { type: 'string', maxLength: 8192 } },
  ['name', 'mimeType'],
)

export function checkCall(parts: () => CheckParts) {
  return operation('v1:callplane.calls.check', {
    description: 'Checks a call without making it: its arguments, what the policy decides, and what is missing.',
    internal: true,
    args: jsonSchema<CheckArgs>(
      record(
        {
          op: TEXT,
          args: { type: 'object' },
          media: { type: 'array', maxItems: MAX_PAGE, items: NOTE },
          key: { type: 'string', minLength: 1, maxLength: 256 },
        },
        ['op', 'args'],
      ),
    ),
    result: jsonSchema<Check>({
      type: 'object',
      required: ['valid', 'errors', 'verdict', 'missing', 'effects', 'risk'],
    }),
    async run({ op, args, media = [], key }, { caller }) {
      const all = parts()
      const found = all.registry.resolve(op, all.clock.now())
      const { errors, refusal, ...seen } = await all.checking.check(found, caller, { op, args, media })
      const holder = key === undefined ? undefined : await holderOf(all, caller, found, key)
      const isOther = holder !== undefined && hasOtherInput(all, holder, caller, { op, args, media })
      const refused = refusal ?? (isOther ? keyReused(found) : undefined)
      return {
        valid: errors.length === 0,
        errors,
        ...seen,
        ...(holder && !isOther && { wouldJoin: holder.id }),
        effects: effectsOf(found),
        risk: found.risk,
        ...(refused && { refusal: refusalOf(refused) }),
      }
    },
  })
}

/** The caller's call of the same operation with this key. */
async function holderOf(
  { store }: Pick<CheckParts, 'store'>,
  caller: Caller,
  of: Operation,
  idempotencyKey: string,
): Promise<Instance | undefined> {
  if (!isKeyed(of)) return undefined
  const filter = { owner: ownerOf(caller), operation: of.name.full, idempotencyKey }
  const page = await store.calls.page({ tenant: caller.tenant, filter, limit: 1, scan: MOST_LOOKED_AT })
  const [first] = page.calls
  return first && store.get(first.id)
}

/** The bytes of attachments are not known here, so a call with attachments counts as the same. */
function hasOtherInput(
  { env }: Pick<CheckParts, 'env'>,
  holder: Instance,
  caller: Caller,
  { op, args, media }: Required<Pick<CheckArgs, 'op' | 'args' | 'media'>>,
): boolean {
  if (media.length > 0) return false
  return storedFingerprint(env.digest, holder) !== fingerprintOf(env.digest, { operation: op, args, media: [], caller })
}

function refusalOf({
  code,
  message,
  retryAfterMs,
}: {
  code: string
  message: string
  retryAfterMs: number | undefined
}) {
  return { code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

function effectsOf(of: Operation): Check['effects'] {
  if (!of.sideEffecting) return 'none'
  return isKeyed(of) ? 'once' : 'repeatable'
}
