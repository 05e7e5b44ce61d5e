/** An export has exactly what the list of the same filter has, and a spreadsheet finds no formula in it. */
import { createToken, operation, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import { csvLine } from '../../../../src/engine/admin/exports/csv.ts'
import type { NewPlace } from '../../places.ts'
import { startSite } from '../../server.ts'
import { chunksOf, openWorks, type Works } from '../operators.ts'

const EXPORT = 'v1:callplane.exports.create'

async function exported(works: Works, args: object, who: 'reader' | 'stranger' = 'reader'): Promise<string> {
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

    expect(line).toBe(`"'=1+1","'@SUM(A1)","'+3","'\t=1","'-2",-2,"a""b,c","two\nlines","{""deep"":""=1""}",\r\n`)
  })

  test.each(['\n=1', ' =1', '\u00a0+1', '\uff1d1', '\uff0b1', '\uff0d1', '\uff20A1', '\r\n-1', '\n'])(
    'a formula behind white space or with wide signs is defused: %j',
    (text) => {
      expect(csvLine([text])).toBe(`"'${text}"\r\n`)
    },
  )

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
