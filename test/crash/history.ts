/**
 * The observations of clients, the effects of handlers, and the rules that both must satisfy. It is pure: the crash
 * test gives it a real history, its own tests give it invalid ones.
 */

export type SeenState = 'accepted' | 'pending' | 'complete' | 'error' | 'missing'

/** One observation of a call, from its own reply or from a poll. */
export interface Sighting {
  state: SeenState
  /** The result as JSON, or the error's code. Only set at the end. */
  outcome?: string
}

export interface SeenChunk {
  offset: number
  length: number
  checksum: string
  checksumPrevious: string | null
  /** The checksum that the receiver computed over the data. */
  computed: string
}

/** One request id as one client saw it. Several calls share a label if a client repeated an idempotency key. */
export interface ClientCall {
  requestId: string
  /** Identifies the client's task, which must happen once. Effects carry the same label. */
  label: string
  /** `once`: the effect must not be repeated. `repeatable`: at least once. `no-effect`: only the outcome counts. */
  effect: 'once' | 'repeatable' | 'no-effect'
  /** Error codes that are an acceptable outcome of this call. */
  mayFailWith: readonly string[]
  /** In the order the client saw them. Empty if the client got no reply. */
  sightings: readonly Sighting[]
  /** True if the call expired before the client saw its outcome. */
  gone?: boolean
  /** Every read of a chunked result, from its first chunk. */
  readings?: readonly (readonly SeenChunk[])[]
}

export interface Effect {
  label: string
  key: string
  attempt: number
}

export interface History {
  calls: readonly ClientCall[]
  /** In the order they happened. */
  effects: readonly Effect[]
}

export const RANK: Record<SeenState, number> = { missing: 0, accepted: 1, pending: 2, complete: 3, error: 3 }

/** Returns a description of every broken rule; empty for a correct server. */
export function problemsIn({ calls, effects }: History): string[] {
  const effectsOf = Map.groupBy(effects, (effect) => effect.label)
  const callsOf = Map.groupBy(calls, (call) => call.label)
  return [
    ...calls.flatMap((call) => sightingProblems(call)),
    ...calls.flatMap((call) => endProblems(call, effectsOf.get(call.label) ?? [])),
    ...calls.flatMap((call) => (call.readings?.length ? readingProblems(call, call.readings) : [])),
    ...[...callsOf].flatMap(([label, same]) => repeatProblems(label, same)),
    ...[...effectsOf].flatMap(([label, all]) => effectProblems(label, all, callsOf.get(label))),
  ]
}

function endOf(call: ClientCall): Sighting | undefined {
  const last = call.sightings.at(-1)
  return last && RANK[last.state] === RANK.complete ? last : undefined
}

/** Observations stay true: no state goes back, no outcome changes, no call disappears. */
function sightingProblems({ requestId, sightings }: ClientCall): string[] {
  return sightings.flatMap((now, index) => {
    const before = sightings[index - 1]
    if (!before) return []
    if (now.state === 'missing' && before.state !== 'missing')
      return [`${requestId} is lost: it was ${before.state} and is gone`]
    if (RANK[now.state] < RANK[before.state]) return [`${requestId} went back from ${before.state} to ${now.state}`]
    const changed = now.state !== before.state || now.outcome !== before.outcome
    return RANK[before.state] === RANK.complete && changed
      ? [`${requestId} ended twice: ${before.state} ${before.outcome}, then ${now.state} ${now.outcome}`]
      : []
  })
}

function endProblems(call: ClientCall, effects: readonly Effect[]): string[] {
  const { requestId, sightings, mayFailWith } = call
  const last = sightings.at(-1)
  if (!last) return [`${requestId} was never looked for`]
  // A client that was cut off before a reply may find no call.
  if (last.state === 'missing') return []
  const end = endOf(call)
  if (!end && call.gone) return []
  if (!end) return [`${requestId} never ended: it is still ${last.state}`]
  if (end.state === 'error')
    return mayFailWith.includes(end.outcome ?? '')
      ? []
      : [`${requestId} failed with ${end.outcome}, which nobody asked for`]
  return call.effect !== 'no-effect' && effects.length === 0 ? [`${requestId} is complete without its effect`] : []
}

/** The same key with the same input is one call with one outcome, even under several request ids. */
function repeatProblems(label: string, calls: readonly ClientCall[]): string[] {
  const ends = new Set(calls.flatMap((call) => endOf(call) ?? []).map(({ state, outcome }) => `${state} ${outcome}`))
  return ends.size > 1 ? [`${label} was run to an end more than once: ${[...ends].join(' and ')}`] : []
}

function effectProblems(label: string, effects: readonly Effect[], calls: readonly ClientCall[] | undefined): string[] {
  if (!calls) return [`${label} had an effect and nobody asked for it`]
  const keys = new Set(effects.map((effect) => effect.key))
  const attempts = effects.map((effect) => effect.attempt)
  return [
    !calls.some((call) => call.sightings.some(({ state }) => state !== 'missing')) &&
      `${label} was run and is not recorded`,
    keys.size > 1 && `${label} had ${keys.size} keys: ${[...keys].join(', ')}`,
    attempts.some((attempt, index) => index > 0 && attempt <= (attempts[index - 1] as number)) &&
      `${label} was run under attempts that do not grow: ${attempts.join(', ')}`,
    effects.length > 1 &&
      calls.some((call) => call.effect === 'once') &&
      `${label} had its effect ${effects.length} times`,
  ].filter((problem) => problem !== false)
}

function readingProblems({ requestId, ...call }: ClientCall, readings: readonly (readonly SeenChunk[])[]): string[] {
  const longest = readings.reduce((most, reading) => (reading.length > most.length ? reading : most), [])
  const last = readings.at(-1)
  return [
    ...readings.flatMap((reading) => chainProblems(requestId, reading)),
    ...readings.flatMap((reading) =>
      reading.some((chunk, index) => chunk.checksum !== longest[index]?.checksum)
        ? [`${requestId} gave out chunks that it later changed`]
        : [],
    ),
    ...(call.sightings.at(-1)?.state === 'complete' && (!last || last.length < longest.length)
      ? [`${requestId} is complete and has lost chunks`]
      : []),
  ]
}

function chainProblems(requestId: string, chain: readonly SeenChunk[]): string[] {
  let offset = 0
  let previous: string | null = null
  return chain.flatMap((chunk, index) => {
    const broken = chunk.offset !== offset || chunk.checksumPrevious !== previous || chunk.checksum !== chunk.computed
    offset += chunk.length
    previous = chunk.checksum
    return broken ? [`${requestId}: chunk ${index} does not verify`] : []
  })
}
