/** A short message about a call decodes to the original, or the call is sent in full. */
import { expect, test } from 'vitest'
import type { Caller } from '../../src/core/call/caller.ts'
import type { Instance } from '../../src/core/call/instance.ts'
import { statesBefore } from '../../src/core/call/state.ts'
import type { Change } from '../../src/core/ports/store.ts'
import {
  createBegunDecoder,
  createBegunEncoder,
  decodeComplete,
  encodeComplete,
} from '../../src/stores/hub/short-wire.ts'

const CALLER: Caller = { tenant: 'main', issuer: 'none', subject: 'ada', scopes: ['*'] }

const BEGUN: Instance = {
  id: 'i1',
  tenant: 'main',
  owner: 'none|ada',
  caller: CALLER,
  requestId: 'r1',
  operation: 'v1:a.b@1.0.0',
  model: 'async',
  args: { ü: 1 },
  media: [],
  fingerprint: 'f',
  lineage: [],
  state: 'pending',
  revision: 1,
  attempt: 1,
  settled: 0,
  failures: 0,
  rerunnable: true,
  stopRequested: false,
  createdAt: 1_000_000_000_000,
  expiresAt: 1_000_000_600_000,
  keepUntil: 1_000_086_400_000,
  dueAt: 1_000_000_030_000,
}

/** Every field there is, so that a new one cannot be forgotten without this failing to compile. */
const OTHER: Required<Instance> = {
  id: 'i2',
  tenant: 'other',
  owner: 'none|bob',
  caller: { tenant: 'other', issuer: 'none', subject: 'bob', scopes: [] },
  requestId: 'r2',
  sessionId: 's',
  parentId: 'p',
  operation: 'v1:a.c@1.0.0',
  model: 'sync',
  args: [1],
  media: [{ name: 'm', mimeType: 'text/plain', source: { kind: 'ref', uri: 'https://example.com' } }],
  fingerprint: 'g',
  idempotencyKey: 'k',
  lineage: ['v1:a.b'],
  locale: 'de',
  traceparent: 't',
  state: 'accepted',
  revision: 2,
  attempt: 2,
  settled: 1,
  failures: 1,
  rerunnable: false,
  stopRequested: true,
  told: true,
  progress: { fraction: 0.5 },
  outcome: { kind: 'result', value: 1 },
  createdAt: 1_000_000_000_001.5,
  expiresAt: 1_000_000_600_001.25,
  keepUntil: 1_000_086_400_001.125,
  dueAt: 1_000_000_030_001.1,
  endedAt: 1_000_000_000_002,
  extras: { deadlineAt: 5 },
  waiting: { a: 1 },
  answer: 2,
}

function createWire() {
  const decoder = createBegunDecoder()
  const defined: number[] = []
  const encode = createBegunEncoder((number, alike) => {
    defined.push(number)
    decoder.define(number, crossed(alike))
  })
  /** Nothing where it has to be said in full. */
  const cross = (instance: Instance) => {
    const message = encode(instance)
    return message && decoder.decode(crossed(message))
  }
  return { cross, defined, decoder }
}

const crossed = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

test.each(Object.keys(OTHER) as (keyof Instance)[])('a call with another %s is decoded correctly', (field) => {
  const { cross } = createWire()
  const changed = { ...BEGUN, [field]: OTHER[field] }

  const [first, heard] = [cross(BEGUN), cross(changed)]

  expect(first).toEqual(BEGUN)
  if (heard) expect(heard).toEqual(changed)
})

test('shared values are sent once, and again after their number is no longer valid', () => {
  const { cross, defined } = createWire()
  const ofOthers = (at: number): Instance => ({
    ...BEGUN,
    owner: `none|${at}`,
    caller: { ...CALLER, subject: `${at}` },
  })
  cross(BEGUN)
  cross({ ...BEGUN, id: 'i2' })
  expect(defined).toEqual([1])

  for (let at = 0; at < 300; at++) expect(cross(ofOthers(at))).toEqual(ofOthers(at))

  expect(cross(BEGUN)).toEqual(BEGUN)
  expect(defined).toHaveLength(302)
})

test('a call of which it was not said whose it is is refused', () => {
  const { decoder } = createWire()

  expect(() => decoder.decode([7, 'i', 'r', {}, 0, 1, 1, 1])).toThrow('The message names an unknown caller number.')
})

const COMPLETE: Change = {
  id: 'i1',
  from: statesBefore('complete'),
  to: 'complete',
  attempt: 1,
  outcome: { kind: 'result', value: { ü: 1 } },
  endedAt: 1_000_000_000_003,
  audit: { verdict: 'allow', backend: 'handler', attempts: 1, outcome: 'complete' },
}

const OTHER_CHANGE: Required<Change> = {
  id: 'i2',
  from: ['pending'],
  to: 'error',
  attempt: 2,
  outcome: { kind: 'location', location: { kind: 'chunks', mimeType: 'text/plain' } },
  settled: 1,
  failures: 1,
  dueAt: 4,
  releaseKey: true,
  expiresAt: 5,
  keepUntil: 6,
  untold: { expiresAt: 1, keepUntil: 2 },
  endedAt: 7,
  extras: {},
  waiting: null,
  past: { attempt: 1, outcome: 'failed', endedAt: 5 },
  audit: { verdict: 'allow', backend: 'http', attempts: 2, outcome: 'complete', rule: 'r' },
  records: [{ key: 'a', value: 'b' }],
}

test.each(Object.keys(OTHER_CHANGE) as (keyof Change)[])('an end with another %s is decoded correctly', (field) => {
  const changed = { ...COMPLETE, [field]: OTHER_CHANGE[field] }

  const messages = [encodeComplete(COMPLETE, BEGUN), encodeComplete(changed, BEGUN)]

  expect(messages[0] && decodeComplete(crossed(messages[0]))).toEqual(COMPLETE)
  if (messages[1]) expect(decodeComplete(crossed(messages[1]))).toEqual(changed)
})

test('the end of a call that this process does not run is sent in full', () => {
  expect(encodeComplete(COMPLETE, undefined)).toBeUndefined()
})
