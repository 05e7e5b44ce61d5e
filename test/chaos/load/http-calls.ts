/** Calls over HTTP, by clients that do not give up: they send, follow, repeat, cancel, and look at calls of others. */
import { randomUUID } from 'node:crypto'
import { EventDecoder } from '../../../src/wire/http/event-stream.ts'
import { type ChaosCall, isEnd, nowMs, type Seen } from '../history.ts'
import { CALLERS, type Subject, tokenOf } from './callers.ts'
import { readChunks } from './chunks.ts'
import { BRIEF_TTL_SECONDS } from './retention.ts'
import { type Heard, isPassing, type Site, stateIn } from './site.ts'

export type HttpKind = 'work' | 'brief' | 'charge' | 'order' | 'export' | 'held' | 'deferred'

const CUT_OFF = 'PANIC_CUT_OFF'
/** What a call may end with besides its result. */
const MAY_FAIL_WITH: Record<HttpKind, readonly string[]> = {
  work: ['AS_ASKED', CUT_OFF],
  brief: [CUT_OFF, 'PANIC_EXPIRED'],
  charge: ['OUTCOME_UNKNOWN'],
  order: ['OUTCOME_UNKNOWN', CUT_OFF],
  // S3 may refuse for longer than a write is repeated.
  export: [CUT_OFF, 'PANIC_STORAGE_FAILED', 'PANIC_STORAGE_BUSY'],
  held: [CUT_OFF, 'APPROVAL_DENIED'],
  deferred: [CUT_OFF],
}

const OPERATION: Record<HttpKind, string> = {
  work: 'Work',
  brief: 'Brief',
  charge: 'Charge',
  order: 'Order',
  export: 'Export',
  held: 'Held',
  deferred: 'Deferred',
}

interface Wish {
  kind: HttpKind
  caller: Subject
  label: string
  key?: string
  args: { label: string; ms: number; fail: 'never' | 'once' | 'always' }
  /** What the client does if it gets no response. */
  whenCutOff: 'same-id' | 'same-key' | 'leave'
  cancels: boolean
}

function wishFor(site: Site, kind: HttpKind): Wish {
  const { random } = site
  const label = site.newLabel(kind)
  const caller = CALLERS[random(CALLERS.length)] as Subject
  // A denied or canceled call frees its key, and would run under it again.
  const cancels = kind === 'work' && random(8) === 0
  // A key is kept for a day, and its call with it.
  const keyed = kind === 'charge' || (kind !== 'held' && kind !== 'brief' && !cancels && random(2) === 0)
  const fail = kind === 'work' ? (['never', 'never', 'once', 'always'] as const)[random(4)] : 'never'
  return {
    kind,
    caller,
    label,
    ...(keyed && { key: label }),
    // Some are so long that faults hit them, and that their node loses its lease when it is paused.
    args: { label, ms: random(6) === 0 ? 1_500 : random(120), fail: fail ?? 'never' },
    // A brief call that is sent again after its expiry would be another one.
    whenCutOff:
      (kind === 'brief' ? 'leave' : (['same-id', keyed ? 'same-key' : 'same-id', 'leave'] as const)[random(3)]) ??
      'leave',
    cancels,
  }
}

export async function pursueHttp(site: Site, kind: HttpKind): Promise<void> {
  const wish = wishFor(site, kind)
  let call = newCall(site, wish)
  if (kind === 'brief') {
    await send(site, wish, call)
    await follow(site, call)
    return followUntilGone(site, call)
  }
  // The ids of callers are their own: another caller may have the same id at the same time.
  const twin = site.random(20) === 0 ? pursueTwin(site, kind, call) : undefined
  while (!(await send(site, wish, call))) {
    if (wish.whenCutOff === 'leave' || site.isOver) break
    if (wish.whenCutOff === 'same-key') call = newCall(site, wish)
    await site.rest(300)
  }
  if (wish.cancels) await cancel(site, call)
  await follow(site, call)
  if (site.random(3) === 0) await repeat(site, wish, call)
  if (site.random(4) === 0) await spy(site, call)
  await twin
}

async function pursueTwin(site: Site, kind: HttpKind, { requestId, caller }: ChaosCall): Promise<void> {
  const other = CALLERS.find((one) => one !== caller) as Subject
  const { key: _, ...wish } = { ...wishFor(site, kind === 'charge' ? 'work' : kind), caller: other, cancels: false }
  const call = newCall(site, wish, requestId)
  while (!site.isOver && !(await send(site, wish, call))) await site.rest(300)
  await follow(site, call)
}

function newCall(site: Site, { kind, caller, label, cancels }: Wish, requestId: string = randomUUID()): ChaosCall {
  return site.history.newCall({
    requestId,
    label,
    kind,
    caller,
    effect: kind === 'charge' ? 'once' : kind === 'deferred' ? 'no-effect' : 'repeatable',
    mayFailWith: cancels ? [...MAY_FAIL_WITH[kind], 'CANCELED'] : MAY_FAIL_WITH[kind],
  })
}

/** True if a response says what became of it. */
async function send(site: Site, { caller, kind, args, key }: Wish, call: ChaosCall): Promise<boolean> {
  const ctx = { requestId: call.requestId, ...(key !== undefined && { idempotencyKey: key }) }
  const hint = site.random(4) === 0 ? { timeoutMs: 0 } : {}
  const heard = await site.post(caller, '/call', { op: `v1:Chaos.${OPERATION[kind]}`, args, ctx: { ...ctx, ...hint } })
  if (!heard || isPassing(heard)) return false
  return noteReply(site, call, heard)
}

function noteReply(site: Site, call: ChaosCall, heard: Heard): true {
  const { status, body } = heard
  // An end with a fault is a failure of the call. Its HTTP status does not matter.
  const isOutcome = body.error !== undefined && call.mayFailWith.includes(body.error.code)
  if (status <= 202 || isOutcome) site.saw(call, heard, 'reply')
  else {
    call.refusedWith = `${status} ${body.error?.code}`
    site.history.find(`${call.label} was refused with ${status} ${body.error?.code}: ${body.error?.message}`)
  }
  return true
}

/** Looks at the call through any node until it has ended. */
export async function follow(site: Site, call: ChaosCall): Promise<void> {
  for (let missed = 0; !site.isOver; ) {
    const way = site.random(10)
    const seen = way < 2 ? await watch(site, call) : await poll(site, call, way < 7 ? 10 : 0)
    if (call.kind === 'export' && seen && seen.state !== 'missing') await readChunks(site, call)
    if (seen && isEnd(seen)) return
    // Its request was cut off, and it is not there.
    if (seen?.state === 'missing' && ++missed > 1) return
    await site.rest(seen ? 150 : 300)
  }
}

/** A client that still finds the call after twice its time looks no longer. */
async function followUntilGone(site: Site, call: ChaosCall): Promise<void> {
  while (!site.isOver && nowMs() - call.madeMs < 2_000 * BRIEF_TTL_SECONDS) {
    const seen = await poll(site, call, 0)
    if (seen?.state === 'missing') return
    await site.rest(4_000)
  }
}

export async function poll(site: Site, call: ChaosCall, waitSeconds: number): Promise<Seen | undefined> {
  const headers = { Prefer: `wait=${waitSeconds}` }
  const heard = await site.ask(call.caller, `/ops/${call.requestId}`, { headers })
  if (!heard || isPassing(heard)) return undefined
  if (heard.status > 202 && heard.status !== 404) {
    site.history.find(`${call.label} (${call.requestId}) cannot be polled: ${heard.status} ${heard.body.error?.code}`)
    return undefined
  }
  return site.saw(call, heard, waitSeconds > 0 ? 'wait' : 'poll')
}

const WATCH_MS = 15_000

/** Server-sent events of the call, until it ends or the connection breaks. */
async function watch(site: Site, call: ChaosCall): Promise<Seen | undefined> {
  const node = site.anyNode()
  const connection = site.newLabel('events')
  const sentMs = nowMs()
  const signal = AbortSignal.timeout(WATCH_MS)
  let last: Seen | undefined
  try {
    const response = await fetch(`${site.urlOf(node)}/ops/${call.requestId}/events`, {
      headers: { Authorization: `Bearer ${tokenOf(call.caller)}`, Accept: 'text/event-stream' },
      signal,
    })
    if (!response.ok || !response.body) return undefined
    const decoder = new EventDecoder({ maxLength: 100_000 })
    for await (const piece of response.body) {
      for (const { data } of decoder.push(piece)) {
        last = { ...stateIn(JSON.parse(data)), via: 'events', node, sentMs, heardMs: nowMs(), connection }
        site.history.saw(call, last)
      }
    }
  } catch {
    // The node was killed or paused, or the call takes longer.
    const { label, requestId } = call
    if (signal.aborted) site.history.silences.push({ label, requestId, node, fromMs: sentMs, toMs: nowMs() })
  }
  return last
}

async function cancel(site: Site, call: ChaosCall): Promise<void> {
  await site.rest(200)
  const heard = await site.ask(call.caller, `/ops/${call.requestId}`, { method: 'DELETE' })
  if (heard && heard.status <= 202) site.saw(call, heard, 'reply')
  site.history.count('cancel')
}

/** The same request again, or the same key under another id: both find the call. */
async function repeat(site: Site, wish: Wish, call: ChaosCall): Promise<void> {
  const again = wish.key === undefined || site.random(2) === 0 ? call : newCall(site, wish)
  site.history.count('repeat')
  // A call that was cut off and never recorded would begin now.
  if (!call.acknowledged) return
  await send(site, wish, again)
  if (again !== call) await follow(site, again)
}

/** Another caller asks for the call. It must not learn that it exists. */
async function spy(site: Site, call: ChaosCall): Promise<void> {
  if (site.history.usesOf(call.requestId) > 1) return
  const other = CALLERS.find((one) => one !== call.caller) as Subject
  site.history.count('spy')
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/chunks'],
  ]) {
    const heard = await site.ask(other, `/ops/${call.requestId}${path}`, { method: method as string })
    if (heard && heard.status < 400)
      site.history.find(
        `${other} sees the call ${call.requestId} (${call.label}) of ${call.caller}: ${method} ${heard.status}`,
      )
  }
}
