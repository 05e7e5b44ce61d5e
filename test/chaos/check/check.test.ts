/** The rules of the checker, each broken once on purpose, and what a right cluster may show. */
import { describe, expect, test } from 'vitest'
import type { Happened } from '../disturb.ts'
import type { ChaosCall, Seen } from '../history.ts'
import type { EffectLine } from './attempts.ts'
import { type Evidence, problemsInEvidence } from './check.ts'

const RESULT = JSON.stringify({ label: 'work-1', key: 'k', attempt: 1, by: 'ada' })

function seen(state: Seen['state'], sentMs: number, more: Partial<Seen> = {}): Seen {
  const outcome = state === 'complete' ? { outcome: RESULT } : {}
  return { state, ...outcome, via: 'poll', node: 0, sentMs, heardMs: sentMs + 10, ...more }
}

function call(sightings: Seen[], more: Partial<ChaosCall> = {}): ChaosCall {
  return {
    requestId: 'r1',
    label: 'work-1',
    kind: 'work',
    caller: 'ada',
    effect: 'repeatable',
    mayFailWith: [],
    sightings,
    readings: [],
    pushed: [],
    madeMs: 0,
    ...more,
  }
}

/** Kept for 30 s. */
function briefCall(sightings: Seen[]): ChaosCall {
  return call(sightings, { kind: 'brief' })
}

function line(step: EffectLine['step'], atMs: number, more: Partial<EffectLine> = {}): EffectLine {
  return { step, label: 'work-1', key: 'k', attempt: 1, by: 'ada', node: 0, atMs, ...more }
}

/** One attempt on a node. */
function attempt(number: number, fromMs: number, toMs: number, more: Partial<EffectLine> = {}): EffectLine[] {
  const steps = [
    ['begin', fromMs],
    ['effect', (fromMs + toMs) / 2],
    ['end', toMs],
  ] as const
  return steps.map(([step, atMs]) => line(step, atMs, { attempt: number, ...more }))
}

function problems(evidence: Partial<Evidence>): string[] {
  return problemsInEvidence({
    calls: [],
    streams: [],
    decisions: [],
    approvalsAsked: [],
    silences: [],
    effects: attempt(1, 100, 200),
    faults: [],
    ...evidence,
  })
}

const pausing = (fromMs: number, toMs: number): Happened => ({
  name: 'pause a node beyond its lease',
  place: 'node',
  node: 0,
  fromMs,
  toMs,
})

describe('what clients saw', () => {
  test('a call that goes forward and stays ended is right', () => {
    expect(problems({ calls: [call([seen('accepted', 0), seen('pending', 50), seen('complete', 300)])] })).toEqual([])
  })

  test('an older state is right if its request was under way when the newer one arrived, and wrong after that', () => {
    const complete = seen('complete', 300)
    const slow = seen('pending', 305, { heardMs: 400 })

    expect(problems({ calls: [call([complete, slow])] })).toEqual([])
    expect(problems({ calls: [call([complete, { ...slow, sentMs: 311 }])] })).toEqual([
      'r1 went back from complete to pending',
      'r1 never ended: it is still pending',
    ])
  })

  test('states of one connection must be in order, although other connections may differ', () => {
    const events = { via: 'events', connection: 'e1' } as const
    const sightings = [
      seen('pending', 0, events),
      seen('accepted', 0, { ...events, heardMs: 20 }),
      seen('complete', 300),
    ]

    expect(problems({ calls: [call(sightings)] })).toEqual(['r1 went back on e1: pending, accepted'])
  })

  test('an acknowledged call that is gone, or never ends, is found', () => {
    expect(problems({ calls: [call([seen('accepted', 0), seen('missing', 50)])] })).toContain(
      'r1 is lost: it was accepted and is gone',
    )
    expect(problems({ calls: [call([seen('accepted', 0)])] })).toContain('r1 never ended: it is still accepted')
  })

  test('a request that a broker took must become a call, and its end must be published', () => {
    const mqtt = { kind: 'mqtt', acknowledged: true } as const
    const pushed = [seen('complete', 0, { via: 'mqtt', outcome: '"other"' })]

    expect(problems({ effects: [], calls: [call([seen('missing', 0)], mqtt)] })).toEqual([
      'r1 (work-1) is lost: its broker took it, and no node knows it',
    ])
    expect(problems({ calls: [call([seen('complete', 300)], mqtt)] })).toEqual([
      'r1 (work-1) has ended, and no end was published over mqtt',
    ])
    expect(problems({ calls: [call([seen('complete', 300)], { ...mqtt, pushed })] })[0]).toContain('mqtt says "other"')
  })

  test('a refused call must not exist', () => {
    expect(problems({ calls: [call([seen('complete', 300)], { refusedWith: '500 X' })] })).toEqual([
      'r1 (work-1) was refused with 500 X, and exists',
    ])
  })

  test('the result of another caller is found', () => {
    expect(problems({ calls: [call([seen('complete', 300)], { caller: 'bob' })] })[0]).toContain(
      'has a result of another call',
    )
  })

  test('an expiry by a wrong clock is found', () => {
    const [heardAt, ttl] = [1_000_000_000_000, 86_400]
    const right = seen('complete', 300, { heardAt, expiresAt: heardAt / 1_000 + ttl })

    expect(problems({ calls: [call([right])] })).toEqual([])
    expect(problems({ calls: [call([{ ...right, expiresAt: heardAt / 1_000 + ttl - 90 }])] })[0]).toContain(
      'expires -90 s off, as node 0 says: a wrong clock',
    )
  })

  test('a call that is kept for half a minute may be gone after that, ended or not, and never before', () => {
    const [accepted, complete] = [seen('accepted', 0), seen('complete', 300)]
    const gone = (atMs: number) => seen('missing', atMs)

    expect(problems({ calls: [briefCall([accepted, complete, gone(30_000)])] })).toEqual([])
    expect(problems({ calls: [briefCall([accepted, gone(30_000)])] })).toEqual([])
    expect(problems({ calls: [briefCall([gone(30_000)])] })).toEqual([])
    expect(problems({ calls: [briefCall([accepted, complete, gone(28_000)])] })).toEqual([
      'r1 is lost: it was complete and is gone',
    ])
    expect(problems({ calls: [briefCall([gone(28_000)])] })).toEqual(['work-1 was run and is not recorded'])
    expect(problems({ calls: [call([complete, gone(90_000)])] })).toEqual(['r1 is lost: it was complete and is gone'])
    expect(problems({ calls: [briefCall([complete, seen('complete', 41_000)])] })).toEqual([
      'r1 (work-1) is still there 10690 ms after its expiry, at node 0',
    ])
  })

  test('a client that waits must hear of the end soon, unless something was disturbed', () => {
    const late = seen('complete', 50, { via: 'wait', heardMs: 9_000 })

    expect(problems({ calls: [call([late])] })[0]).toContain('heard of the end 8800 ms late')
    expect(problems({ calls: [call([late])], faults: [pausing(1_000, 2_000)] })).toEqual([])
    const silences = [{ label: 'work-1', requestId: 'r1', node: 1, fromMs: 50, toMs: 15_000 }]
    expect(problems({ calls: [call([seen('complete', 300)])], silences })[0]).toContain('events at node 1 had no end')
  })
})

describe('what attempts did', () => {
  const second = attempt(2, 3_000, 3_100, { node: 1 })
  const ofSecond = JSON.stringify({ label: 'work-1', key: 'k', attempt: 2, by: 'ada' })

  test('a paused node may take its effect late, but its outcome must not count', () => {
    const effects = [...second, ...attempt(1, 100, 5_000)]
    const faults = [pausing(500, 4_900)]

    expect(problems({ effects, faults, calls: [call([seen('complete', 6_000, { outcome: ofSecond })])] })).toEqual([])
    expect(problems({ effects, faults, calls: [call([seen('complete', 6_000)])] })).toEqual([
      'r1 (work-1) has the outcome of attempt 1, and attempt 2 had begun: no fence',
    ])
  })

  test('one attempt on two nodes is found', () => {
    const effects = [...attempt(1, 100, 200), ...attempt(1, 110, 210, { node: 2 })]

    expect(problems({ effects, calls: [call([seen('complete', 300)])] })).toEqual([
      'work-1 was run under attempts that do not grow: 1, 1',
      'work-1: k attempt 1 was started on nodes 0 and 2',
    ])
  })

  test('two attempts at once are found, unless the first node was disturbed', () => {
    const effects = [...attempt(1, 100, 900), ...attempt(2, 150, 950, { node: 1 })]
    const calls = [call([seen('complete', 2_000, { outcome: ofSecond })])]

    expect(problems({ effects, calls })).toEqual([
      'work-1 ran on node 0 and node 1 at once, and both were well: attempts 1 and 2',
    ])
    expect(problems({ effects, calls, faults: [pausing(0, 90)] })).toEqual([])
  })

  test('a key that ran to two ends is found', () => {
    const other = JSON.stringify({ label: 'work-1', key: 'k2', attempt: 1, by: 'ada' })
    const calls = [
      call([seen('complete', 300)]),
      call([seen('complete', 300, { outcome: other })], { requestId: 'r2' }),
    ]
    const effects = [...attempt(1, 100, 200), ...attempt(1, 500, 600, { key: 'k2' })]

    expect(problems({ calls, effects }).join('\n')).toMatch(/run to an end more than once(?:.|\n)*had 2 keys/)
  })
})

describe('approvals and streams', () => {
  test('of two decisions one counts, and the call follows it', () => {
    const decided = (status: string) => ({ id: 'a1', label: 'held-1', asked: 'approve' as const, status, atMs: 1 })
    const denied = call([seen('error', 300, { outcome: 'APPROVAL_DENIED' })], {
      kind: 'held',
      label: 'held-1',
      mayFailWith: ['APPROVAL_DENIED'],
    })

    expect(problems({ effects: [], calls: [denied], decisions: [decided('denied')] })).toEqual([])
    expect(problems({ effects: [], calls: [denied], decisions: [decided('approved'), decided('denied')] })).toEqual([
      'the approval a1 (held-1) was approved and denied',
      'r1 (held-1) was approved and ended as APPROVAL_DENIED',
    ])
  })

  test('a grant is for one call', () => {
    const runs = ['k1', 'k2'].flatMap((key) => attempt(1, 100, 200, { key, label: 'grant-1' }))
    const asked = [{ id: 'a1', label: 'grant-1' }]

    expect(problems({ effects: runs, approvalsAsked: asked })).toEqual([
      'grant-1 ran 2 times, and 1 approvals were given: a grant was used twice',
    ])
    expect(problems({ effects: runs, approvalsAsked: [...asked, { id: 'a2', label: 'grant-1' }] })).toEqual([])
  })

  test('frames go on where the reader asked for, and a complete stream is whole', () => {
    const stream = { label: 'stream-1', requestId: 's1', caller: 'ada', over: 'sse' } as const
    const reading = (...connections: [number, number[]][]) => ({
      ...stream,
      connections: connections.map(([after, numbers]) => ({ after, numbers, wrong: 0 })),
      end: { state: 'complete' },
    })

    expect(problems({ effects: [], streams: [reading([0, [1, 2]], [2, [3, 4]])] })).toEqual([])
    expect(problems({ effects: [], streams: [reading([0, [1, 2]], [2, [4]])] })).toEqual([
      'the stream stream-1 (s1, sse) has a gap: 4 came after 2',
      'the stream stream-1 (s1, sse) is complete, and 1 frames are missing',
    ])
  })
})
