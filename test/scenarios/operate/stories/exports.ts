/** An export has exactly what the list of the same filter has, and a spreadsheet finds no formula in it. */
import { createToken, operation, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import { csvLine } from '../../../../src/engine/admin/exports/csv.ts'
import type { NewPlace } from '../../places.ts'
import { startSite } from '../../server.ts'
import { chunksOf, openWorks, type Works } from '../operators.ts'

const EXPORT = 'v1:callplane.exports.create'

async function exported(
  works: Works,
  args: object,
  who: 'reader' | 'auditor' | 'stranger' = 'reader',
): Promise<string> {
  const { body } = await works.as(who, EXPORT, args)
  const { body: end } = await works.endedOf(who, body.requestId)
  expect(end.error).toBeUndefined()
  return chunksOf(works, body.requestId, works.people[who].headers)
}

export function exportStories(newPlace: NewPlace): void {
  const open = (options: Partial<ServerOptions> = {}) => openWorks(options, newPlace)

  test('the lines are the calls of the filter, of this tenant', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 5)
    await works.make('bob', 'v1:shop.refuse', 3)
    const filter = { owner: 'callplane|ada' }
    const listed = await works.result<{ calls: object[] }>('reader', 'v1:callplane.calls.list', filter)

    const lines = (await exported(works, { what: 'calls', filter, format: 'jsonl' })).trim().split('\n')
    const dead = (await exported(works, { what: 'deadletters', format: 'csv' })).trim().split('\r\n')
    const others = await exported(works, { what: 'calls', filter, format: 'jsonl' }, 'stranger')

    expect(lines.map((line) => JSON.parse(line))).toEqual(listed.calls)
    expect(dead).toHaveLength(6)
    expect(dead[0]).toMatch(/^id,requestId,operation,/)
    expect(others).toBe('')
  })

  test('an export of several pages and chunks has every call once', async () => {
    const works = await open({
      limits: { openCallsPerCaller: 1_000, queuedCalls: 1_000 },
      sizes: { chunkBytes: 20_000 },
    })
    await works.make('ada', 'v1:shop.refuse', 600)

    const lines = (await exported(works, { what: 'calls', filter: { operation: 'v1:shop.*' }, format: 'jsonl' })).trim()

    expect(lines.split('\n').map((line) => JSON.parse(line).id)).toEqual(await works.ids())
  })

  test('the lines of each export are those of all pages of its list', { timeout: 60_000 }, async () => {
    const works = await open({ limits: { openCallsPerCaller: 1_000, queuedCalls: 1_000 } })
    await works.make('ada', 'v1:shop.pay', 510)
    await works.make('bob', 'v1:shop.refuse', 5)
    await works.make('bob', 'v1:shop.pay', 5)
    const ids = (await works.ids()).filter((_, at) => at % 50 === 0)
    await works.result('operator', 'v1:callplane.deadletters.dismiss', { ids, why: 'known' })
    const pagesOf = async (op: string, filter: object, list: string, cursor: string) => {
      const rows: Record<string, unknown>[] = []
      let next: string | undefined
      do {
        const args = { ...filter, limit: 200, ...(next !== undefined && { [cursor]: next }) }
        const page = await works.result<Record<string, unknown>>('auditor', `v1:callplane.${op}`, args)
        rows.push(...(page[list] as typeof rows))
        next = page.next as string | undefined
      } while (next !== undefined)
      return rows
    }
    const shop = { operation: 'v1:shop.*' }
    const exports: [what: string, filter: object, listed: Promise<Record<string, unknown>[]>][] = [
      ...[
        shop,
        { ...shop, code: 'BANK_AWAY' },
        { ...shop, owner: 'callplane|bob' },
        { ...shop, text: 'the bank' },
      ].flatMap((filter): typeof exports => [
        ['calls', filter, pagesOf('calls.list', filter, 'calls', 'after')],
        ['deadletters', filter, pagesOf('deadletters.list', filter, 'calls', 'after')],
      ]),
      ['audit', shop, pagesOf('audit.list', shop, 'entries', 'before')],
      ['audit', { ...shop, code: 'NO' }, pagesOf('audit.list', { ...shop, code: 'NO' }, 'entries', 'before')],
    ]
    for (const [what, filter, listed] of exports) {
      const rows = await listed
      const jsonl = await exported(works, { what, filter, format: 'jsonl' }, 'auditor')
      const csv = await exported(works, { what, filter, format: 'csv' }, 'auditor')

      expect([what, filter, rows.length > 0]).toEqual([what, filter, true])
      expect(jsonl.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))).toEqual(rows)
      const [head, ...lines] = csv.split('\r\n').slice(0, -1)
      expect(head).toMatch(/^id,requestId,operation,/)
      expect(lines.map((line) => line.split(',')[0])).toEqual(rows.map(({ id }) => id))
    }
  })

  test('a value that a spreadsheet would evaluate is text', async () => {
    const { token, hash } = createToken()
    const keep = operation('v1:notes.keep', { model: 'async', run: () => null })
    const entry = { hash, kind: 'bearer' as const, subject: 'one', scopes: ['callplane:admin'] }
    const site = await startSite({ ...newPlace(), operations: [keep], auth: { tokens: [entry] } })
    const headers = { Authorization: `Bearer ${token}` }
    for (const requestId of ['-2', '-3']) {
      await site.call('v1:notes.keep', {}, { requestId }, { headers })
      await site.ended(requestId, headers)
    }
    const args = { what: 'calls', filter: { operation: 'v1:notes.*' }, format: 'csv' }
    const { body } = await site.call(EXPORT, args, {}, { headers })
    await site.ended(body.requestId, headers)

    const text = await chunksOf(site, body.requestId, headers)

    for (const cell of [`"'-2"`, `"'-3"`]) expect(text).toContain(cell)
    expect(text).not.toMatch(/(?:^|,)[=+@-]/m)
  })

  test('every beginning of a formula is defused, and quotes are kept', () => {
    const line = csvLine(['=1+1', '@SUM(A1)', '+3', '\t=1', '-2', -2, 'a"b,c', 'two\nlines', { deep: '=1' }, undefined])

    expect(line).toBe(`"'=1+1","'@SUM(A1)","'+3","'\t'=1","'-2",-2,"a""b,c","two\nlines","{""deep"":""=1""}",\r\n`)
  })

  test.each([
    ...[' =1', '\u00a0+1', '\uff1d1', '\uff0b1', '\uff0d1', '\uff20A1', '\n'].map(
      (text) => [text, `"'${text}"`] as const,
    ),
    ['\n=1', `"'\n'=1"`] as const,
    ['\r\n-1', `"'\r\n'-1"`] as const,
  ])('a formula behind white space or with wide signs is defused: %j', (text, cell) => {
    expect(csvLine([text])).toBe(`${cell}\r\n`)
  })

  test.each([
    ['a;=cmd|x', `"a;'=cmd|x"`],
    ['a\t@SUM(A1)', `"a\t'@SUM(A1)"`],
    ['two\n=1', `"two\n'=1"`],
    ['a; -1;+2', `"a;' -1;'+2"`],
    ['2026-01-01;b=1', '2026-01-01;b=1'],
  ])('a formula behind what is a separator in some countries is defused: %j', (text, cell) => {
    expect(csvLine([text])).toBe(`${cell}\r\n`)
  })

  test('the audit trail needs its scope or that of reading, and a filter of another list is refused', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.refuse', 2)

    const audit = (await exported(works, { what: 'audit', filter: { code: 'NO' }, format: 'jsonl' })).trim().split('\n')
    const { body } = await works.as('reader', EXPORT, { what: 'audit', filter: { minMs: 1 }, format: 'jsonl' })
    const { body: other } = await works.endedOf('reader', body.requestId)

    expect(audit.map((line) => JSON.parse(line).code)).toEqual(['NO', 'NO'])
    expect(other.error?.code).toBe('VALIDATION_ERROR')
    expect((await works.as('ada', EXPORT, { what: 'calls', format: 'csv' })).body.error?.code).toBe('UNKNOWN_OP')
  })
}
