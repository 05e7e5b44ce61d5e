/**
 * A handler writes a secret to every output of its context, in every encoding. Afterwards the test searches everything
 * that the server wrote and sent for it.
 */
import { type HandlerContext, jsonSchema, type OperationDefinition, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { ask } from './mcp.ts'
import { oxpClient } from './oxp.ts'
import { contentsOf, expectNowhere, formsOf, registerTraceSdk, type Written } from './secret-search.ts'
import { startSite, temporaryFolder } from './server.ts'

vi.setConfig({ testTimeout: 60_000 })

const SECRET = 'geheim!*(of the) café & "house"/+~'
const FORMS = formsOf(SECRET).join(' | ')
const context = { secrets: [{ id: 's', value: SECRET }] }

/** Pieces that cut the secret in every place. */
function* split(said: string): Generator<string> {
  for (let at = 1; at < said.length; at++) {
    yield `${'-'.repeat(50)}${said.slice(0, at)}`
    yield said.slice(at)
  }
}

async function* bytesOf(pieces: Iterable<string>) {
  for (const piece of pieces) yield new TextEncoder().encode(piece)
}

type Exit = (said: string, ctx: HandlerContext) => unknown

const EXITS: Record<string, Exit> = {
  result: (said) => ({ said, [said]: [said, { deep: said }] }),
  objectText: (said, ctx) => ctx.object(said, { mimeType: 'text/plain' }),
  objectBytes: (said, ctx) => ctx.object(Buffer.from(said), { mimeType: 'application/octet-stream' }),
  objectStream: (said, ctx) => ctx.object(bytesOf(split(said)), { mimeType: 'text/html' }),
  objectName: (said, ctx) => ctx.object('nothing', { mimeType: 'text/plain', filename: `${said}.txt` }),
  objectType: (_said, ctx) => ctx.object('nothing', { mimeType: `text/plain; note=${encodeURIComponent(SECRET)}` }),
  location: (_said, ctx) => ctx.location(`https://files.example/a?key=${encodeURIComponent(SECRET)}`),
  locationStrict: (_said, ctx) => ctx.location(`https://files.example/a?key=${formsOf(SECRET)[6]}`),
  locationAuth: (said, ctx) =>
    ctx.location('https://files.example/a', { auth: { credentialType: 'bearer', credential: said } }),
  fails: (said, ctx) =>
    ctx.fail('NO_GOOD', said, { details: { said, [said]: said }, promptContent: said, developerMessage: said }),
  failsLong: (_said, ctx) => ctx.fail('NO_GOOD', `${'x'.repeat(3_990)}${SECRET}${'y'.repeat(100)}`),
  throws: (said) => {
    throw new Error(said, { cause: new Error(`${'x'.repeat(8_180)}${said}`) })
  },
  throwsLong: () => {
    throw new Error(`${'x'.repeat(1_990)}${SECRET}`)
  },
  progress: (said, ctx) => ctx.progress(0.5, said),
  says: (said, ctx) => ctx.say('warning', said, { said }),
  logs: (said, ctx) => {
    ctx.log.info({ said, deep: { said }, err: new Error(said) }, said)
    ctx.log.info({ long: `${'x'.repeat(8_180)}${SECRET}` }, `${'x'.repeat(8_180)}${SECRET}`)
  },
  asks: (said, ctx) =>
    ctx.ask({
      q: { kind: 'form', message: said, schema: { type: 'object', properties: { [said]: { title: said } } } },
    }),
  callsWithArgs: (said, ctx) => ctx.call('v1:t.note', { said }),
  callsWithKey: (_said, ctx) => ctx.call('v1:t.note', {}, { idempotencyKey: SECRET }),
  callsUnknown: (said, ctx) => ctx.call(`v1:t.${said}`, {}),
}

const note = operation('v1:t.note', { sideEffecting: true, run: (args) => args })

/** A key that no schema allows, so long that what is said of it is cut within the secret. */
const unfit = (model: 'sync' | 'async') =>
  operation(`v1:t.unfit${model}`, {
    model,
    requires: { secrets: ['s'] },
    result: jsonSchema<object>({ type: 'object', additionalProperties: { type: 'string' } }),
    run: (_args, ctx) => ({ [`${'x'.repeat(280)}${ctx.secret('s')}`]: 1 }),
  })

const chunked = operation('v1:t.chunked', {
  chunked: { mimeType: 'text/plain' },
  requires: { secrets: ['s'] },
  async *run(_args, ctx) {
    yield 'before it has a secret '
    yield* split(ctx.secret('s'))
    for (const form of formsOf(ctx.secret('s'))) yield* [form.slice(0, 9), form.slice(9), '\n']
  },
})

const beside = operation('v1:t.beside', {
  chunked: true,
  requires: { secrets: ['s'] },
  run: (_args, ctx) => {
    const said = `${ctx.secret('s')} ${FORMS}`
    const mimeType = `text/plain; note=${encodeURIComponent(SECRET)}`
    return ctx.chunks(split(ctx.secret('s')), { mimeType, value: () => ({ said, [said]: 1 }) })
  },
})

const operations: OperationDefinition[] = [
  note,
  chunked,
  beside,
  unfit('sync'),
  unfit('async'),
  ...Object.entries(EXITS).flatMap(([name, exit]) =>
    (['sync', 'async'] as const).map((model) =>
      operation(`v1:t.${name}${model}`, {
        model,
        ttlSeconds: 3_600,
        requires: { secrets: ['s'] },
        run: (_args, ctx) => exit(`${ctx.secret('s')} ${FORMS}`, ctx),
      }),
    ),
  ),
]

test('a secret that a handler puts to every exit of its context is nowhere, in any form', async () => {
  const spans = registerTraceSdk()
  const data = temporaryFolder()
  const lines: string[] = []
  const site = await startSite({
    operations,
    data,
    log: 'debug',
    logTo: { write: (line) => lines.push(line) },
    requestLog: true,
  })
  const written: Written[] = []
  const heard = async (name: string, response: Response) => {
    const content = `${await response.text()} ${JSON.stringify([...response.headers])}`
    written.push({ name, content })
    return content
  }

  for (const { name } of operations.filter((each) => each !== note)) {
    const call_id = name.slice(3)
    const { text } = await oxpClient(site.url).call(call_id, {}, { call_id, context })
    written.push({ name: `${call_id} by OXP`, content: text })
    const { body } = await site.ended(call_id)
    written.push({ name: `${call_id} by OpenCALL`, content: JSON.stringify(body) })
    await heard(`events of ${call_id}`, await site.request(`/ops/${call_id}/events`))
    if (body.location?.uri.startsWith(site.url)) {
      const [path] = body.location.uri.slice(site.url.length).split('?')
      await heard(`${call_id} fetched`, await site.request(path as string))
      const resource = { uri: `callplane://results/${call_id}` }
      const read = await ask(site, 'resources/read', resource)
      written.push({ name: `${call_id} by MCP`, content: JSON.stringify(read.json) })
    }
  }
  const whileOpen = contentsOf(data)
  await site.close()

  const all = [
    ...written,
    ...lines.map((line) => ({ name: 'log', content: line })),
    ...spans().map((span) => ({ name: 'span', content: JSON.stringify(span) })),
    ...whileOpen,
    ...contentsOf(data),
  ]
  const names = all.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['log', 'span', 'callplane.db', 'callplane.db-wal']))
  // It did go out everywhere: else nothing would be proven.
  for (const name of ['result', 'fails', 'objectStream', 'location', 'asks', 'unfit']) {
    const marked = all.filter((each) => each.name.includes(`${name}sync`) && each.content.includes('[redacted]'))
    expect({ name, marked: marked.length > 0 }).toEqual({ name, marked: true })
  }
  expect(lines.filter((line) => line.includes('[redacted]')).length).toBeGreaterThan(5)
  expect(all.find(({ name }) => name === 't.chunked fetched')?.content).toContain('before it has a secret')
  expect(all.find(({ name }) => name === 't.beside by OpenCALL')?.content).toContain('"value":{"said":"[redacted]')
  expectNowhere([SECRET], all)
  // Nor its greater part, at a cut.
  for (const { name, content } of all) {
    for (let at = 0; at + 12 <= SECRET.length; at++) {
      expect({ name, part: content.includes(SECRET.slice(at, at + 12)) }).toEqual({ name, part: false })
    }
  }
})

test('a child call that is sent a secret is refused with what to do, and has it where it names it', async () => {
  const child = operation('v1:t.child', {
    sideEffecting: true,
    requires: { secrets: ['s'] },
    run: (_args, ctx) => ctx.secret('s').length,
  })
  const sends = operation('v1:t.sends', {
    requires: { secrets: ['s'] },
    run: (_args, ctx) => ctx.call(child, { password: ctx.secret('s') }),
  })
  const relies = operation('v1:t.relies', {
    requires: { secrets: ['s'] },
    run: (_args, ctx) => ctx.secret('s') && ctx.call(child, {}),
  })
  const site = await startSite({ operations: [child, sends, relies] })

  const refused = await oxpClient(site.url).call('t.sends', {}, { context })
  const done = await oxpClient(site.url).call('t.relies', {}, { context })

  expect(refused.body.error.message).toMatch(
    /sends a secret to v1:t\.child.*Name the secret in "requires" of v1:t\.child/,
  )
  expect(done.body).toMatchObject({ success: true, value: SECRET.length })
})

test.each(['location', 'internal', 'retryable', 'objectId', 'mimeType', 'external'])(
  'a secret that is one of our own words, "%s", breaks nothing',
  async (value) => {
    const given = { secrets: [{ id: 's', value }] }
    const exit = (name: string, run: (ctx: HandlerContext) => unknown) =>
      operation(`v1:t.${name}`, {
        ttlSeconds: 60,
        requires: { secrets: ['s'] },
        run: (_args, ctx) => ctx.secret('s') && run(ctx),
      })
    const site = await startSite({
      operations: [
        exit('value', () => ({ said: value })),
        exit('object', (ctx) => ctx.object(`the ${value}`, { mimeType: 'text/plain' })),
        exit('elsewhere', (ctx) => ctx.location('https://files.example/a')),
        exit('throws', () => {
          throw new Error('no')
        }),
      ],
    })
    const call = (name: string) => oxpClient(site.url).call(`t.${name}`, {}, { call_id: name, context: given })

    expect((await call('value')).body.value).toEqual({ said: '[redacted]' })
    const object = (await call('object')).body.value.uri
    expect(await (await fetch(object)).text()).toBe('the [redacted]')
    expect((await call('elsewhere')).body.value).toEqual({ uri: 'https://files.example/a' })
    expect((await call('throws')).body.success).toBe(false)
    expect((await site.poll('throws')).body.error?.code).toBe('PANIC_INTERNAL')
  },
)
