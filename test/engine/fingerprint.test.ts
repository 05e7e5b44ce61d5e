/** The fingerprint computed from a stored call equals the one computed when the call arrived. */
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MediaInput } from '../../src/core/call/call.ts'
import type { Caller } from '../../src/core/call/caller.ts'
import { fingerprintOf, storedFingerprint } from '../../src/core/call/fingerprint.ts'
import type { JsonValue } from '../../src/core/json.ts'
import { operation } from '../../src/core/operation/define.ts'
import { jsonSchema } from '../../src/index.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { Node, openCluster } from './node.ts'

const digest = (text: string) => hash('sha256', text, 'hex')
const NAME = 'v1:reports.generate'
const caller: Caller = { tenant: 'main', issuer: 'none', subject: 'ada', scopes: [] }

/** As it comes back from a store. */
const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

function fingerprints(args: JsonValue, media: readonly MediaInput[] = [], userId?: string) {
  const who = userId === undefined ? caller : { ...caller, userId }
  const { fingerprint: _none, ...instance } = sampleInstance(0, { args, media, caller: who })
  return {
    asked: fingerprintOf(digest, { operation: NAME, args, media, caller: who }),
    kept: storedFingerprint(digest, stored(instance)),
  }
}

test('for all arguments', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (args) => {
      const { asked, kept } = fingerprints(args as JsonValue)
      expect(kept).toBe(asked)
    }),
  )
})

test('attachments and whom the caller acts for count, and survive', () => {
  const bytes: MediaInput = {
    name: 'a',
    mimeType: 'text/plain',
    source: { kind: 'object', objectId: 'o/1', bytes: 3, sha256: 'abc' },
  }
  const elsewhere: MediaInput = { ...bytes, source: { kind: 'ref', uri: 'https://example.com/a' } }
  const all = [
    fingerprints({}),
    fingerprints({}, [bytes]),
    fingerprints({}, [elsewhere]),
    fingerprints({}, [bytes], 'u1'),
    fingerprints({}, [], 'u1'),
  ]

  for (const { asked, kept } of all) expect(kept).toBe(asked)
  expect(new Set(all.map(({ asked }) => asked)).size).toBe(all.length)
})

test('one that was asked for by another name than that of its operation has its own', () => {
  const instance = sampleInstance(0, { fingerprint: 'f' })
  expect(storedFingerprint(digest, instance)).toBe('f')
})

test('an observer gets the arguments as sent, even if the handler changed them', async () => {
  const cluster = openCluster()
  const told: string[] = []
  const sort = operation('v1:sort', {
    model: 'async',
    args: jsonSchema<{ items: number[] }>({ type: 'object', properties: { items: { type: 'array' } } }),
    run: ({ items }) => items.sort(),
  })
  const node = new Node(cluster, {
    operations: [sort],
    observer: { executed: (_operation, { entry }) => void told.push(entry.fingerprint) },
  })

  await node.call('v1:sort', { items: [2, 1] }, { requestId: 'r1' })
  await cluster.ended((await cluster.find('r1')).id)

  const [entry] = await cluster.store.audit.list({ tenant: 'main', limit: 1 })
  expect(entry?.fingerprint).toBe(digest('["v1:sort",{"items":[2,1]},[]]'))
  expect(told).toEqual([entry?.fingerprint])
})
