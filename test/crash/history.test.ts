/** Tests the checker with histories that no server may produce: it must report each, for the right reason. */
import { expect, test } from 'vitest'
import { type ClientCall, type Effect, type History, problemsIn, type SeenChunk, type Sighting } from './history.ts'

const ACCEPTED: Sighting = { state: 'accepted' }
const PENDING: Sighting = { state: 'pending' }
const MISSING: Sighting = { state: 'missing' }
const complete = (outcome = '1'): Sighting => ({ state: 'complete', outcome })
const failed = (outcome: string): Sighting => ({ state: 'error', outcome })

function call(sightings: Sighting[], more: Partial<ClientCall> = {}): ClientCall {
  return { requestId: 'r1', label: 'work-1', effect: 'repeatable', mayFailWith: [], sightings, ...more }
}

function effect(attempt = 1, key = 'k1', label = 'work-1'): Effect {
  return { label, key, attempt }
}

function chunk(offset: number, checksum: string, checksumPrevious: string | null): SeenChunk {
  return { offset, length: 10, checksum, checksumPrevious, computed: checksum }
}

const A = chunk(0, 'a', null)
const B = chunk(10, 'b', 'a')
const once = { effect: 'once', mayFailWith: ['OUTCOME_UNKNOWN'] } as const

const good: [string, History][] = [
  ['nothing happened', { calls: [], effects: [] }],
  ['a call ran through', { calls: [call([ACCEPTED, PENDING, complete(), complete()])], effects: [effect()] }],
  ['a cut-off call ran again', { calls: [call([ACCEPTED, PENDING, complete()])], effects: [effect(1), effect(3)] }],
  ['an unanswered call was never recorded', { calls: [call([MISSING, MISSING])], effects: [] }],
  ['an unanswered call was recorded', { calls: [call([PENDING, complete()])], effects: [effect()] }],
  ['a call failed as asked', { calls: [call([ACCEPTED, failed('NO')], { mayFailWith: ['NO'] })], effects: [] }],
  ['a cut-off effect is unknown', { calls: [call([failed('OUTCOME_UNKNOWN')], once)], effects: [effect()] }],
  [
    'a repeat joined the first call',
    { calls: [call([complete()]), call([PENDING, complete()], { requestId: 'r2' })], effects: [effect()] },
  ],
  [
    'a result was read while it grew',
    { calls: [call([complete()], { readings: [[A], [], [A, B], [A, B]] })], effects: [effect()] },
  ],
]

test.each(good)('no complaint where %s', (_, history) => {
  expect(problemsIn(history)).toEqual([])
})

const bad: [string, History, RegExp][] = [
  ['an acknowledged call is lost', { calls: [call([ACCEPTED, MISSING])], effects: [] }, /r1 is lost/],
  ['an ended call is lost', { calls: [call([complete(), MISSING])], effects: [effect()] }, /r1 is lost/],
  ['a call never ends', { calls: [call([ACCEPTED, PENDING])], effects: [effect()] }, /never ended/],
  ['nobody looked', { calls: [call([])], effects: [] }, /never looked for/],
  [
    'a state goes back',
    { calls: [call([PENDING, ACCEPTED, complete()])], effects: [effect()] },
    /went back from pending to accepted/,
  ],
  ['an end is undone', { calls: [call([complete(), PENDING, complete()])], effects: [effect()] }, /went back/],
  ['an end changes its result', { calls: [call([complete('1'), complete('2')])], effects: [effect()] }, /ended twice/],
  [
    'a success becomes a failure',
    { calls: [call([complete(), failed('NO')], { mayFailWith: ['NO'] })], effects: [effect()] },
    /ended twice/,
  ],
  ['the effect is lost', { calls: [call([complete()])], effects: [] }, /complete without its effect/],
  ['an effect was not recorded', { calls: [call([MISSING])], effects: [effect()] }, /run and is not recorded/],
  ['a failure was not asked for', { calls: [call([failed('PANIC_INTERNAL')])], effects: [] }, /PANIC_INTERNAL/],
  ['an effect is doubled', { calls: [call([complete()], once)], effects: [effect(1), effect(2)] }, /effect 2 times/],
  [
    'the key changes between attempts',
    { calls: [call([complete()])], effects: [effect(1, 'k1'), effect(2, 'k2')] },
    /2 keys/,
  ],
  ['an attempt runs twice', { calls: [call([complete()])], effects: [effect(1), effect(1)] }, /do not grow/],
  ['an old attempt comes late', { calls: [call([complete()])], effects: [effect(2), effect(1)] }, /do not grow/],
  ['an effect has no call', { calls: [], effects: [effect()] }, /nobody asked for it/],
  [
    'a repeat was a second call',
    { calls: [call([complete('1')]), call([complete('2')], { requestId: 'r2' })], effects: [effect()] },
    /more than once/,
  ],
  [
    'a chunk does not follow the one before',
    { calls: [call([complete()], { readings: [[A, chunk(10, 'b', 'x')]] })], effects: [effect()] },
    /chunk 1 does not verify/,
  ],
  [
    'bytes are missing between chunks',
    { calls: [call([complete()], { readings: [[A, chunk(11, 'b', 'a')]] })], effects: [effect()] },
    /chunk 1 does not verify/,
  ],
  [
    'a chunk holds other bytes than it says',
    { calls: [call([complete()], { readings: [[{ ...A, computed: 'z' }]] })], effects: [effect()] },
    /chunk 0 does not verify/,
  ],
  [
    'a chunk given out is another one later',
    { calls: [call([complete()], { readings: [[chunk(0, 'x', null)], [A, B]] })], effects: [effect()] },
    /later changed/,
  ],
  [
    'chunks given out are gone',
    { calls: [call([complete()], { readings: [[A, B], [A]] })], effects: [effect()] },
    /lost chunks/,
  ],
]

test.each(bad)('a complaint where %s', (_, history, complaint) => {
  expect(problemsIn(history).join('\n')).toMatch(complaint)
})
