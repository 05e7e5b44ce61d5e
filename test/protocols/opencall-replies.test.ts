/**
 * Every reply of the engine becomes an envelope that follows OpenCALL's rules, and every chunk chain can be followed.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ResultLocation } from '../../src/core/call/instance.ts'
import type { Reply } from '../../src/core/call/reply.ts'
import { Fault, type FaultKind } from '../../src/core/fault.ts'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import type { ChunkReply } from '../../src/core/ports/calls.ts'
import { decodeCursor, encodeChunk, encodeRefusal, encodeReply } from '../../src/protocols/opencall/codec.ts'
import { statusOf } from '../../src/protocols/opencall/faults.ts'
import type { ChunkEnvelope, Location, ResponseEnvelope } from '../../src/protocols/opencall/wire.ts'
import { verifies } from '../requirements.ts'

const KINDS: Record<FaultKind, true> = {
  malformed: true,
  'unknown-operation': true,
  removed: true,
  unauthenticated: true,
  forbidden: true,
  'requirements-missing': true,
  'invalid-input': true,
  conflict: true,
  'not-found': true,
  'rate-limited': true,
  overloaded: true,
  unavailable: true,
  domain: true,
  canceled: true,
  timeout: true,
  upstream: true,
  'policy-invalid': true,
  'isolation-unavailable': true,
  'secret-missing': true,
  'credential-invalid': true,
  'credential-forbidden': true,
  'credential-expired': true,
  'approval-pending': true,
  'approval-denied': true,
  'approval-expired': true,
  'outcome-unknown': true,
  internal: true,
}
const PAYLOADS = ['result', 'location', 'error', 'stream'] as const

/** What JSON can carry: -0 is 0 there. */
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue)
const wholeMs = fc.nat({ max: 10_000_000 })
const faults = fc
  .tuple(
    fc.constantFrom(...(Object.keys(KINDS) as FaultKind[])),
    fc.string({ minLength: 1 }),
    fc.record(
      {
        code: fc.stringMatching(/^[A-Z][A-Z_]{2,20}$/),
        retryable: fc.boolean(),
        retryAfterMs: wholeMs,
        details: fc.dictionary(fc.string(), json).map((details) => details as JsonObject),
        promptContent: fc.string(),
        developerMessage: fc.string(),
        exceptionText: fc.constant('what the exception said'),
        cause: fc.constant(new Error('what was thrown underneath')),
      },
      { requiredKeys: ['exceptionText', 'cause'] },
    ),
  )
  .map(([kind, message, options]) => new Fault(kind, message, options))
const locations: fc.Arbitrary<ResultLocation> = fc.oneof(
  fc.record({ kind: fc.constant('chunks' as const), mimeType: fc.constant('text/csv') }),
  fc.record({
    kind: fc.constant('object' as const),
    objectId: fc.constant('id/name'),
    mimeType: fc.constant('image/png'),
    redirect: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('external' as const), uri: fc.webUrl(), redirect: fc.boolean() }),
)
const payloads = fc.oneof(
  fc.record(
    {
      state: fc.constantFrom('accepted' as const, 'pending' as const),
      retryAfterMs: wholeMs,
      progress: fc.record({ fraction: fc.double({ min: 0, max: 1, noNaN: true }) }),
    },
    { requiredKeys: ['state', 'retryAfterMs'] },
  ),
  fc.record({ state: fc.constant('complete' as const), result: json }),
  fc.record({ state: fc.constant('complete' as const), location: locations }),
  fc.record({ state: fc.constant('error' as const), fault: faults }),
)
const base = fc.record(
  {
    requestId: fc.stringMatching(/^[A-Za-z0-9._~:-]{1,128}$/),
    sessionId: fc.string({ minLength: 1 }),
    model: fc.constantFrom('sync' as const, 'async' as const),
    expiresAt: fc.integer({ min: Date.UTC(2020), max: Date.UTC(2100) }),
  },
  { requiredKeys: ['requestId', 'model'] },
)
const replies = fc.tuple(base, payloads).map(([common, payload]) => ({ ...common, ...payload }) as Reply)

const locate = (): Location => ({ uri: 'https://calls.example/ops/r1' })

test('a reply of any kind has exactly the payload of its state, and comes back from JSON as it was', () => {
  verifies('opencall:057', 'opencall:058', 'opencall:060', 'opencall:061', 'opencall:063')
  fc.assert(
    fc.property(replies, (reply) => {
      const envelope = encodeReply(reply, locate)

      expectEnvelope(envelope, reply)
      expect('result' in envelope).toBe(reply.state === 'complete' && 'result' in reply)
      expect('error' in envelope).toBe(reply.state === 'error')
      expect(envelope.state).toBe(reply.state)
      if ('result' in reply) expect(envelope.result).toEqual(JSON.parse(JSON.stringify(reply.result)))
      if (reply.state === 'error') expectError(envelope, reply.fault)
    }),
  )
})

test('moments are whole seconds, never later than what is kept, and waiting times whole milliseconds', () => {
  verifies('opencall:089')
  fc.assert(
    fc.property(replies, (reply) => {
      const { expiresAt, retryAfterMs } = encodeReply(reply, locate)

      const told = reply.state !== 'error' && reply.expiresAt !== undefined
      expect(expiresAt !== undefined).toBe(told)
      if (told) {
        const keptMs = Number(reply.expiresAt) - Number(expiresAt) * 1_000
        expect(Number.isInteger(expiresAt)).toBe(true)
        expect(keptMs >= 0 && keptMs < 1_000).toBe(true)
      }
      const hint = reply.state === 'error' ? reply.fault.retryAfterMs : 'retryAfterMs' in reply && reply.retryAfterMs
      expect(retryAfterMs ?? false).toBe(hint ?? false)
    }),
  )
})

test('a refusal of any kind is an error envelope and nothing else', () => {
  verifies('opencall:058', 'opencall:061', 'opencall:063')
  fc.assert(
    fc.property(faults, fc.option(fc.string({ minLength: 1 }), { nil: undefined }), (fault, sessionId) => {
      const envelope = encodeRefusal(fault, 'r1', sessionId)

      expectEnvelope(envelope, { requestId: 'r1', ...(sessionId !== undefined && { sessionId }) })
      expect(envelope.state).toBe('error')
      expectError(envelope, fault)
      expect([200, 400, 401, 403, 404, 410, 429, 500, 502, 503]).toContain(statusOf(fault))
    }),
  )
})

test('for any chunk sizes, cursors lead through all chunks once, and offsets and checksums are continuous', () => {
  verifies(
    'opencall:157',
    'opencall:159',
    'opencall:161',
    'opencall:164',
    'opencall:165',
    'opencall:166',
    'opencall:173',
  )
  const lengths = fc.array(fc.nat({ max: 5_000 }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(lengths, fc.boolean(), (cut, finished) => {
      const chain = chunkChain(cut)
      const total = cut.reduce((sum, length) => sum + length, 0)
      const serve = (cursor: string | undefined): ChunkEnvelope => {
        const index = decodeCursor(cursor)
        const chunk = chain[index]
        const reply: ChunkReply = {
          requestId: 'r1',
          mimeType: 'text/csv',
          ...(chunk && { chunk: finished ? chunk : { ...chunk, last: false } }),
          ...(finished && { totalBytes: total }),
        }
        return JSON.parse(JSON.stringify(encodeChunk(reply, index))) as ChunkEnvelope
      }

      const followed: ChunkEnvelope[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const envelope = serve(cursor)
        followed.push(envelope)
        // Nothing there yet: the same place again, later.
        if (!envelope.chunk) {
          expect(envelope).toMatchObject({ state: 'pending', cursor, retryAfterMs: expect.any(Number) })
          break
        }
        cursor = envelope.cursor
      }

      const chunks = followed.flatMap(({ chunk }) => chunk ?? [])
      expect(chunks.map(({ offset, length }) => [offset, length])).toEqual(chain.map((c) => [c.offset, c.length]))
      expect(chunks.map(({ checksumPrevious }) => checksumPrevious)).toEqual([
        null,
        ...chunks.slice(0, -1).map(({ checksum }) => checksum),
      ])
      const states = followed.map(({ state }) => state)
      expect(states.slice(0, -1).every((state) => state === 'pending')).toBe(true)
      expect(states.at(-1)).toBe(finished ? 'complete' : 'pending')
      for (const { total: told } of followed) expect(told).toBe(finished ? total : undefined)
    }),
  )
})

function expectEnvelope(envelope: ResponseEnvelope, { requestId, sessionId }: Pick<Reply, 'requestId' | 'sessionId'>) {
  const sent = JSON.parse(JSON.stringify(envelope))
  expect(PAYLOADS.filter((field) => field in sent)).toHaveLength(1)
  expect(sent).toMatchObject({ requestId })
  expect(sent.sessionId).toBe(sessionId)
  expect(Object.values(envelope)).not.toContain(undefined)
  expect(JSON.stringify(sent)).toBe(JSON.stringify(envelope))
}

function expectError({ error }: ResponseEnvelope, fault: Fault): void {
  expect(error).toMatchObject({ code: expect.stringMatching(/./), message: fault.message })
  if (error && 'cause' in error) expect(error.cause).toEqual(expect.any(Object))
  const { details = {}, retryAfterMs } = fault
  for (const key of Object.keys(details)) expect(Object.hasOwn(error?.cause ?? {}, key)).toBe(true)
  if (retryAfterMs !== undefined) expect(error?.cause?.retryAfterMs).toBe(retryAfterMs)
  expect(JSON.stringify(error)).not.toMatch(/what the exception said|what was thrown underneath/)
}

function chunkChain(cut: readonly number[]) {
  let offset = 0
  return cut.map((length, index) => {
    const chunk = {
      index,
      offset,
      length,
      checksum: `sha256:${index}`,
      checksumPrevious: index === 0 ? null : `sha256:${index - 1}`,
      last: index === cut.length - 1,
      bytes: new Uint8Array(0),
    }
    offset += length
    return chunk
  })
}
