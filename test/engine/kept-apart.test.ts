/** A caller cannot reach another caller's calls or bytes, nor internal data of its own calls. */
import { expect, test } from 'vitest'
import { ownerOf } from '../../src/core/call/caller.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import { DEFAULT_LIMITS } from '../../src/engine/limits/limit-rules.ts'
import { StreamLimits } from '../../src/engine/limits/stream-limits.ts'
import { EventStreams } from '../../src/protocols/opencall/http/event-streams.ts'
import { createResultCache } from '../../src/server/build/result-cache.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { ADA, Node, openCluster } from './node.ts'

const NAMESAKE = { ...ADA, tenant: 'other' }

test('two tenants may have a user of the same name: neither gets the other’s remembered result', async () => {
  const cluster = openCluster()
  const whoami = operation('v1:whoami', {
    cache: { policy: 'server', ttlSeconds: 60 },
    run: (_args, ctx) => `${ctx.caller.tenant}/${ctx.caller.subject}`,
  })
  const node = new Node(cluster, { operations: [whoami], cache: createResultCache(cluster.clock) })

  const replies = [await node.call('v1:whoami'), await node.call('v1:whoami', {}, {}, {}, NAMESAKE)]

  expect(replies).toMatchObject([{ result: 'main/ada' }, { result: 'other/ada' }])
})

test('a subject that continues a tenant’s name gets no remembered result of that tenant', async () => {
  const cluster = openCluster()
  const whoami = operation('v1:whoami', {
    cache: { policy: 'server', ttlSeconds: 60 },
    run: (_args, ctx) => `${ctx.caller.tenant} ${ctx.caller.subject}`,
  })
  const node = new Node(cluster, { operations: [whoami], cache: createResultCache(cluster.clock) })
  const ofTheOther = { ...ADA, tenant: 'acme|x', issuer: 'y', subject: 'ada' }
  const alike = { ...ADA, tenant: 'acme', issuer: 'x', subject: 'y|ada' }

  const replies = [
    await node.call('v1:whoami', {}, {}, {}, ofTheOther),
    await node.call('v1:whoami', {}, {}, {}, alike),
  ]

  expect(replies).toMatchObject([{ result: 'acme|x ada' }, { result: 'acme y|ada' }])
})

test('a subject that continues a tenant’s name takes no place of that tenant’s event streams or streams', () => {
  const watched = { key: 'v1:watch@1.0.0' } as Operation
  const eventStreams = new EventStreams(1)
  const streams = new StreamLimits({ ...DEFAULT_LIMITS, streamsPerCaller: 1 }, createManualClock())

  for (const caller of [
    { ...ADA, tenant: 'acme x', issuer: 'y' },
    { ...ADA, tenant: 'acme', issuer: 'x y' },
  ]) {
    expect(() => eventStreams.enter(caller)).not.toThrow()
    expect(() => streams.enter({ tenant: caller.tenant, owner: ownerOf(caller) }, watched)).not.toThrow()
  }
})

test('two tenants may have a user of the same name: neither uses up the other’s limits', async () => {
  const cluster = openCluster()
  const gate = Promise.withResolvers<void>()
  const work = operation('v1:work', { model: 'async', run: () => gate.promise })
  const limits = { openCallsPerCaller: 1, callsPerSecond: 1, callBurst: 2, pollBurst: 1 }
  const node = new Node(cluster, { operations: [work], limits })
  const tooMany = (call: Promise<unknown>, kind: string) => expect(call).rejects.toMatchObject({ kind })

  await node.call('v1:work')
  await tooMany(node.call('v1:work', {}, { requestId: 'r2' }), 'overloaded')
  await tooMany(node.call('v1:work', {}, { requestId: 'r3' }), 'rate-limited')
  await node.followUp.poll(ADA, 'r1')
  await tooMany(node.followUp.poll(ADA, 'r1'), 'rate-limited')

  expect(await node.call('v1:work', {}, { requestId: 'r1' }, {}, NAMESAKE)).toMatchObject({ state: 'accepted' })
  expect(await node.followUp.poll(NAMESAKE, 'r1')).toMatchObject({ requestId: 'r1' })
  node.limits.adjust(await cluster.store.openCounts())
  await tooMany(node.call('v1:work', {}, { requestId: 'r4' }, {}, NAMESAKE), 'overloaded')
  gate.resolve()
  await cluster.ended((await cluster.find('r1')).id)
})

test('an object can be read by its owner in the same tenant, and with a signed link', async () => {
  const cluster = openCluster()
  const draw = operation('v1:draw', { run: (_args, ctx) => ctx.object('<svg/>', { mimeType: 'image/svg+xml' }) })
  const node = new Node(cluster, { operations: [draw] })
  const reply = await node.call('v1:draw')
  const objectId = 'location' in reply && reply.location.kind === 'object' ? reply.location.objectId : ''

  const strangers = [NAMESAKE, { ...ADA, subject: 'bob' }, { ...ADA, issuer: 'elsewhere' }]

  for (const caller of strangers)
    await expect(node.followUp.object(caller, objectId)).rejects.toMatchObject({ kind: 'not-found' })
  expect((await node.followUp.object(ADA, objectId)).info).toMatchObject({ bytes: 6 })
  expect((await node.followUp.object(undefined, objectId)).info).toMatchObject({ bytes: 6 })
})

test('of the bytes of a call only its result can be fetched: not its attachments, nor what an earlier try left', async () => {
  const cluster = openCluster()
  const trace = operation('v1:trace', {
    model: 'async',
    media: [{ name: 'photo', acceptedTypes: ['image/png'], maxBytes: 100 }],
    retry: { attempts: 2, backoffMs: 0 },
    async run(_args, ctx) {
      const drawn = await ctx.object('<svg/>', { mimeType: 'image/svg+xml' })
      if (ctx.attempt === 1) ctx.fail('NO_INK', 'There is no ink.', { retryable: true })
      return drawn
    },
  })
  const node = new Node(cluster, { operations: [trace] })
  const uploads = 'c0ffee'
  const photo = `${uploads}/photo`
  async function* bytes() {
    yield new Uint8Array(3)
  }
  const { sha256 } = await cluster.objects.put(photo, bytes(), { mimeType: 'image/png', maxBytes: 100 })
  const source = { kind: 'object' as const, objectId: photo, bytes: 3, sha256 }
  await node.call('v1:trace', {}, { uploads, media: [{ name: 'photo', mimeType: 'image/png', source }] })
  await cluster.ended(uploads)

  const leftover = `${uploads}/result-1-0`

  for (const objectId of [photo, leftover]) {
    expect(await cluster.objects.info(objectId)).toMatchObject({ id: objectId })
    await expect(node.followUp.object(ADA, objectId)).rejects.toMatchObject({ kind: 'not-found' })
    await expect(node.followUp.object(undefined, objectId)).rejects.toMatchObject({ kind: 'not-found' })
  }
  expect((await node.followUp.object(ADA, `${uploads}/result-2-0`)).info).toMatchObject({ bytes: 6 })
})
