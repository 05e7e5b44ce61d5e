/** The client in the process of the server: who calls, and what applies to the calls. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startSite } from '../../scenarios/server.ts'

const whoAmI = operation('v1:people.whoAmI', {
  result: z.string(),
  run: (_args, { caller }) => `${caller.tenant} ${caller.issuer} ${caller.subject} ${caller.scopes.join()}`,
})
const remove = operation('v1:people.remove', {
  args: z.object({ name: z.string() }),
  scopes: ['people:write'],
  model: 'async',
  sideEffecting: true,
  run: () => null,
})
const describeFile = operation('v1:files.describe', {
  media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 100_000 }],
  result: z.string(),
  run: async (_args, ctx) => (await ctx.media.file.text()).toUpperCase(),
})
const draw = operation('v1:charts.draw', {
  ttlSeconds: 60,
  run: (_args, ctx) => ctx.object(new Uint8Array([1, 2, 3]), { mimeType: 'image/png' }),
})
const operations = [whoAmI, remove, describeFile, draw] as const

function startProtected() {
  const { hash } = createToken()
  const auth = { tenant: 'acme', tokens: [{ kind: 'bearer' as const, hash, subject: 'bob', scopes: [] }] }
  return startSite({ operations: [...operations], auth })
}

test('the program says who calls, and no credential is needed', async () => {
  const { server } = await startProtected()

  const ada = await server.client<typeof operations>({ subject: 'ada', scopes: ['a', 'b'] }).people.whoAmI()
  const other = await server.client<typeof operations>({ subject: 'eve', tenant: 't2', issuer: 'idp' }).people.whoAmI()

  expect(ada).toBe('acme in-process ada a,b')
  expect(other).toBe('t2 idp eve ')
})

test('scopes and schemas apply, calls are recorded, and belong to their caller', async () => {
  const { server } = await startProtected()
  const admin = server.client<typeof operations>({ subject: 'ada', scopes: ['people:write'] })
  const guest = server.client<typeof operations>({ subject: 'eve' })

  const refused = await guest.people.remove({ name: 'bob' }).catch((fault) => fault)
  const invalid = await admin.call('v1:people.remove', { name: 7 as never }).catch((fault) => fault)
  const run = await admin.people.remove.start({ name: 'bob' })

  expect(refused).toMatchObject({ code: 'INSUFFICIENT_SCOPE', outcome: 'refused' })
  expect(invalid).toMatchObject({ code: 'VALIDATION_ERROR', outcome: 'refused' })
  expect(await run.result()).toBeNull()
  await expect(guest.people.remove.resume(run.id).result()).rejects.toMatchObject({ status: 404 })
})

test('files go in, and objects come out', async () => {
  const { server } = await startProtected()
  const api = server.client<typeof operations>({ subject: 'ada' })

  const shouted = await api.files.describe({}, { media: { file: { data: 'hello', type: 'text/plain' } } })
  const image = await api.charts.draw().blob()

  expect(shouted).toBe('HELLO')
  expect([image.type, ...new Uint8Array(await image.arrayBuffer())]).toEqual(['image/png', 1, 2, 3])
})
