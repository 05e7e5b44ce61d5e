/** Arguments and results are shown to those who may see them, without secrets, and every time is in the audit trail. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import type { OpenStore, Store } from '../../../src/core/ports/store.ts'
import { oxpClient } from '../oxp.ts'
import type { NewPlace } from '../places.ts'
import { type Office, openOffice } from './office.ts'

interface Payload {
  part: string
  mediaType: string
  bytes: number
  offset: number
  text: string
  complete: boolean
  redactions: string[]
}

const SECRET = 'sk-very-secret-value-123'

const KEEP = {
  model: 'async' as const,
  args: {
    type: 'object',
    properties: {
      note: { type: 'string' },
      password: { type: 'string', format: 'password' },
      people: { type: 'array', items: { $ref: '#/$defs/person' } },
    },
    $defs: {
      person: {
        type: 'object',
        properties: { name: { type: 'string' }, 'a/pin': { type: 'integer', writeOnly: true } },
      },
    },
  },
  run: ({ note }: { note?: string }) => ({ kept: note ?? null }),
}
const keep = operation('v1:notes.keep', KEEP)
const fail = operation('v1:notes.fail', {
  model: 'async',
  retry: { attempts: 1 },
  run: (_, ctx) => ctx.fail('FULL', 'The book is full.', { details: { pages: 7 } }),
})

/** A store that fails to append to the audit trail while it is full. */
function withTrail(store: Store, trail: { readonly isFull: boolean }): Store {
  const append: Store['audit']['append'] = async (entry) => {
    if (trail.isFull) throw new Error('The disk is full.')
    return store.audit.append(entry)
  }
  const bound = <T extends object>(of: T, own: Partial<T>): T =>
    new Proxy(of, {
      get(_, name) {
        const value = Reflect.get(own, name) ?? Reflect.get(of, name)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
  return bound(store, { audit: bound(store.audit, { append }) })
}

const payload = (office: Office, id: string, part: string, more: object = {}) =>
  office.read<Payload>('viewer', 'calls.payload', { id, part, ...more })

export function payloadStories(newPlace: NewPlace): void {
  test('the parts of a call are JSON text, and a part that it does not have is not found', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep, fail] })
    await office.done('ada', 'v1:notes.keep', 'r1', { note: 'milk' })
    await office.done('ada', 'v1:notes.fail', 'r2')
    const [kept, failed] = [await office.idOf('r1'), await office.idOf('r2')]

    const args = await payload(office, kept, 'args')
    const error = await payload(office, failed, 'error')
    const none = await office.as('viewer', 'v1:callplane.calls.payload', { id: kept, part: 'error' })

    expect(args).toEqual({
      ...{ part: 'args', mediaType: 'application/json', bytes: 15, offset: 0 },
      ...{ text: '{"note":"milk"}', complete: true, redactions: [] },
    })
    expect((await payload(office, kept, 'result')).text).toBe('{"kept":"milk"}')
    expect(JSON.parse(error.text)).toMatchObject({ code: 'FULL', message: 'The book is full.', details: { pages: 7 } })
    expect(none.body.error?.code).toBe('NOT_FOUND')
  })

  test('only the scope callplane:payloads shows payloads, or finds a call by them', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    await office.done('ada', 'v1:notes.keep', 'r1', { note: 'Milk' })
    const id = await office.idOf('r1')

    const shown = await office.as('reader', 'v1:callplane.calls.payload', { id, part: 'args' })
    const searched = await office.as('reader', 'v1:callplane.calls.list', { text: 'milk' })
    const counted = await office.as('reader', 'v1:callplane.calls.count', { text: 'milk' })

    expect(shown.body.error?.code).toBe('UNKNOWN_OP')
    for (const { body } of [searched, counted]) {
      expect(body.error?.code).toBe('INSUFFICIENT_SCOPE')
      expect(body.error?.message).toContain('callplane:payloads')
    }
    expect((await office.list({ text: 'mILK' }, 'viewer')).calls).toHaveLength(1)
    expect((await office.list({ text: '%' }, 'viewer')).calls).toHaveLength(0)
    expect(await office.read('viewer', 'calls.count', { text: 'milk', by: 'owner' })).toEqual({
      total: 1,
      capped: false,
      groups: [{ value: 'callplane|ada', count: 1 }],
    })
  })

  test('every reveal is in the audit trail, with the person, the call and the part, and nothing else is', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    await office.done('ada', 'v1:notes.keep', 'r1', { note: 'milk' })
    const id = await office.idOf('r1')
    await payload(office, id, 'args')
    await payload(office, id, 'result')
    await office.as('viewer', 'v1:callplane.calls.payload', { id, part: 'error' })
    await office.read('viewer', 'calls.get', { id })

    const { entries } = await office.read<{ entries: object[] }>('viewer', 'audit.list', {
      operation: 'v1:callplane.calls.payload@1.0.0',
    })

    expect(entries).toMatchObject([
      { owner: 'callplane|viewer', outcome: 'complete', verdict: 'allow', about: { call: id, part: 'result' } },
      { owner: 'callplane|viewer', outcome: 'complete', verdict: 'allow', about: { call: id, part: 'args' } },
    ])
    expect(JSON.stringify(entries)).not.toContain('milk')
  })

  test('if the audit trail cannot be written, nothing is shown or searched', async () => {
    const place = newPlace()
    const trail = { isFull: false }
    const store: OpenStore = async (parts) => withTrail(await place.store(parts), trail)
    const office = await openOffice({ ...place, store, operations: [keep] })
    await office.done('ada', 'v1:notes.keep', 'r1', { note: 'milk' })
    const id = await office.idOf('r1')
    trail.isFull = true
    const tries: [op: string, args: object][] = [
      ['calls.payload', { id, part: 'args' }],
      ['calls.payload', { id, part: 'result', offset: 2 }],
      ['calls.list', { text: 'milk' }],
      ['calls.count', { text: 'milk' }],
      ['deadletters.list', { text: 'milk' }],
      ['exports.create', { what: 'calls', filter: { text: 'milk' }, format: 'jsonl' }],
    ]

    for (const [op, args] of tries) {
      const { body } = await office.as('viewer', `v1:callplane.${op}`, args)
      const headers = office.headersOf('viewer')
      const end = body.state === 'complete' || body.error ? body : (await office.ended(body.requestId, headers)).body
      expect([op, end.state, end.result]).toEqual([op, 'error', undefined])
      expect(JSON.stringify(end)).not.toMatch(/milk|"total"|callplane\|ada/)
      const chunks = await office.request(`/ops/${body.requestId}/chunks`, { headers })
      expect(await chunks.text()).not.toContain(id)
    }
  })

  test('fields that the schema marks as sensitive are hidden, and are no way to find a call', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    const people = [{ name: 'Ada', 'a/pin': 12345678 }, { name: 'Bob' }]
    await office.done('ada', 'v1:notes.keep', 'r1', { note: 'milk', password: 'open sesame', people })

    const { text, redactions } = await payload(office, await office.idOf('r1'), 'args')

    expect(JSON.parse(text)).toEqual({
      note: 'milk',
      password: '[redacted]',
      people: [{ name: 'Ada', 'a/pin': '[redacted]' }, { name: 'Bob' }],
    })
    expect(redactions).toEqual(['/password', '/people/0/a~1pin'])
    expect((await office.list({ text: 'sesame' }, 'viewer')).calls).toEqual([])
    expect(await office.read('viewer', 'calls.count', { text: '123456' })).toMatchObject({ total: 0 })
    expect((await office.list({ text: 'ada' }, 'viewer')).calls).toHaveLength(1)
  })

  test('what is hidden in a call is hidden in the calls of those who approved and replayed it, too', async () => {
    const rule = { id: 'second-person', effect: 'approve' as const, what: { operation: 'v1:notes.keep' } }
    const policy = { default: 'allow' as const, rules: [rule] }
    const office = await openOffice({ ...newPlace(), operations: [keep], policy })
    await office.as('ada', 'v1:notes.keep', { note: 'milk', password: 'open sesame' }, { requestId: 'r1' })
    const id = await office.idOf('r1')
    await office.as(
      'boss',
      'v1:callplane.approvals.decide',
      { id, verdict: 'approve' },
      { requestId: 'r2', idempotencyKey: 'k' },
    )
    await office.ended('r1', office.headersOf('ada'))
    const again = { ids: [id], as: 'me', args: { note: 'milk', password: 'open barley' }, why: 'x' }
    await office.done('boss', 'v1:callplane.calls.replay', 'r3', again, { idempotencyKey: 'k' })

    const decided = await payload(office, await office.idOf('r2'), 'result')
    const replayed = await payload(office, await office.idOf('r3'), 'args')

    expect(JSON.parse(decided.text)).toMatchObject({ id, caller: 'callplane|ada', args: '[redacted]' })
    expect(JSON.parse(replayed.text)).toEqual({ ...again, args: '[redacted]' })
    expect([decided.redactions, replayed.redactions]).toEqual([['/args'], ['/args']])
    for (const text of ['sesame', 'barley']) expect((await office.list({ text }, 'viewer')).calls).toEqual([])
  })

  test('a new version of the operation hides the fields of the calls before it, too', async () => {
    const place = newPlace()
    const before = await openOffice({ ...place, operations: [keep] })
    await before.done('ada', 'v1:notes.keep', 'r1', { note: 'milk', password: 'open sesame' })
    const id = await before.idOf('r1')
    await before.close()
    const newer = operation('v1:notes.keep', { ...KEEP, version: '1.1.0' })
    const office = await openOffice({ ...place, operations: [newer] })

    const { text, redactions } = await payload(office, id, 'args')

    expect(JSON.parse(text)).toEqual({ note: 'milk', password: '[redacted]' })
    expect(redactions).toEqual(['/password'])
    expect((await office.list({ text: 'sesame' }, 'viewer')).calls).toEqual([])
  })

  test('a search that is refused is not in the audit trail as one that was made', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    const filter = { text: 'sesame' }
    const searches: [op: string, args: object][] = [
      ['calls.list', filter],
      ['calls.count', filter],
      ['deadletters.list', filter],
      ['exports.create', { what: 'calls', filter, format: 'csv' }],
      ['exports.create', { what: 'deadletters', filter, format: 'jsonl' }],
      ['changes.wait', { filter, waitMs: 0 }],
    ]
    for (const [op, args] of searches) {
      const { body } = await office.as('reader', `v1:callplane.${op}`, args)
      const { error } =
        body.state === 'error' ? body : (await office.ended(body.requestId, office.headersOf('reader'))).body
      expect([op, error?.code]).toEqual([op, 'INSUFFICIENT_SCOPE'])
    }

    const { entries } = await office.read<{ entries: object[] }>('viewer', 'audit.list')
    for (const entry of entries) expect(entry).toMatchObject({ outcome: 'forbidden', code: 'INSUFFICIENT_SCOPE' })
  })

  test('no part of a page tells that a hidden value matched', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    await office.done('ada', 'v1:notes.keep', 'r1', { note: 'I guess it is sesame.' })
    const guess = await office.list({ text: 'sesame', limit: 1 }, 'viewer')
    await office.done('ada', 'v1:notes.keep', 'r2', { password: 'open sesame' })
    await office.done('ada', 'v1:notes.keep', 'r3', { password: 'open sesame' })

    expect(guess.calls).toHaveLength(1)
    expect(await office.list({ text: 'sesame', limit: 1 }, 'viewer')).toEqual(guess)
    expect(await office.read('viewer', 'calls.count', { text: 'sesame' })).toMatchObject({ total: 1, capped: false })
  })

  test('a search by text goes page by page, and skips nothing', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    for (const n of [1, 2, 3, 4, 5]) {
      await office.done('ada', 'v1:notes.keep', `r${n}`, n % 2 ? { note: `milk ${n}` } : { password: 'milk' })
    }
    const pages: string[][] = []
    let after: string | undefined
    do {
      const { calls, next, complete } = await office.list({ text: 'milk', limit: 2, after }, 'viewer')
      pages.push(calls.map(({ requestId }) => requestId))
      expect(complete).toBe(true)
      after = next
    } while (after !== undefined)

    expect(pages).toEqual([['r5', 'r3'], ['r1']])
  })

  test('a search by text is in the audit trail, without the text', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    await office.list({ text: 'sesame' }, 'viewer')
    await office.read('viewer', 'calls.count', { text: 'sesame' })
    await office.read('viewer', 'deadletters.list', { text: 'sesame' })
    await office.list({ owner: 'callplane|ada' }, 'viewer')

    const { entries } = await office.read<{ entries: { operation: string }[] }>('viewer', 'audit.list')

    expect(entries.map(({ operation: name }) => name)).toEqual([
      'v1:callplane.deadletters.list@1.0.0',
      'v1:callplane.calls.count@1.0.0',
      'v1:callplane.calls.list@1.0.0',
    ])
    for (const entry of entries) expect(entry).toMatchObject({ owner: 'callplane|viewer', about: { searched: true } })
    expect(JSON.stringify(entries)).not.toContain('sesame')
  })

  test('a secret that came with a call is hidden by its value, wherever else it was sent', async () => {
    const use = operation('v1:secret.use', {
      model: 'async',
      requires: { secrets: ['api'] },
      run: (_, ctx) => ctx.secret('api').length,
    })
    const office = await openOffice({ ...newPlace(), operations: [use] })
    const context = { secrets: [{ id: 'api', value: SECRET }] }
    const input = { url: `https://example.org/?key=${SECRET}` }
    await oxpClient(office.url).call('secret.use', input, { context }, office.headersOf('ada'))

    const [call] = (await office.list()).calls
    const { text, redactions } = await payload(office, call?.id ?? '', 'args')

    expect(JSON.parse(text)).toEqual({ url: 'https://example.org/?key=[redacted]' })
    expect(redactions).toEqual(['/url'])
    expect((await office.list({ text: 'sk-very' }, 'viewer')).calls).toEqual([])
  })

  test('a large part comes in slices that end between characters', async () => {
    const office = await openOffice({ ...newPlace(), operations: [keep] })
    const note = 'aé漢😀'.repeat(400)
    await office.done('ada', 'v1:notes.keep', 'r1', { note })
    const id = await office.idOf('r1')
    let text = ''
    let offset = 0
    let last: Payload
    do {
      last = await payload(office, id, 'args', { offset, bytes: 999 })
      expect(last.offset).toBe(offset)
      text += last.text
      offset += Buffer.byteLength(last.text)
    } while (!last.complete)

    expect(JSON.parse(text)).toEqual({ note })
    expect(last.bytes).toBe(Buffer.byteLength(text))
    // From the middle of a character.
    const start = text.indexOf('é')
    expect(
      await payload(office, id, 'args', { offset: Buffer.byteLength(text.slice(0, start)) + 1, bytes: 4 }),
    ).toMatchObject({
      offset: Buffer.byteLength(text.slice(0, start)),
      text: 'é',
    })
    expect(await payload(office, id, 'args', { offset: 10 ** 9 })).toMatchObject({ text: '', complete: true })
  })
}
