/** Which changes of an operation may keep its version, and which need a new one. */
import { expect, it } from 'vitest'
import { verifies } from '../../requirements.ts'
import { args, changesOf, edited, payment, result } from './orders.ts'

type Edit = [what: string, path: string, value: unknown]

const SAFE: Record<string, Edit[]> = {
  'opencall:218': [
    ['an optional argument is added', `${args}/gift`, { type: 'boolean' }],
    ['an optional argument is added deeper', 'argsSchema/$defs/line/properties/colour', { type: 'string' }],
  ],
  'opencall:219': [['a result field is added', `${result}/placedAt`, { type: 'string' }]],
  'opencall:220': [
    ['an optional attachment is added', 'mediaSchema/1', { name: 'map', acceptedTypes: ['image/png'], maxBytes: 5 }],
  ],
  'opencall:221': [
    ['integer becomes number', `${args}/count/type`, 'number'],
    ['an enumeration gains a value', `${args}/speed/enum`, ['slow', 'fast', 'now']],
    ['a result enumeration gains a value', `${result}/state/enum`, ['open', 'done', 'lost']],
    [
      'a text may be null',
      `${args}/city`,
      { anyOf: [{ type: 'string', minLength: 2, maxLength: 40 }, { type: 'null' }] },
    ],
    ['a text may be null, written as types', `${args}/city/type`, ['string', 'null']],
    ['alternatives become a list of types', `${args}/note`, { type: ['null', 'string'] }],
    ['a marked alternative is added', `${args}/pay/oneOf/2`, payment('bank', 'iban')],
    ['anything is allowed', `${args}/count`, {}],
  ],
  'opencall:222': [
    ['minLength goes down', `${args}/city/minLength`, 1],
    ['maxLength goes', `${args}/city/maxLength`, undefined],
    ['maximum goes up', `${args}/amount/maximum`, 200],
    ['maxItems goes up', `${args}/lines/maxItems`, 10],
    ['the pattern goes', `${args}/code/pattern`, undefined],
    ['a required argument becomes optional', 'argsSchema/required', []],
    ['maxBytes goes up', 'mediaSchema/0/maxBytes', 2000],
    ['a MIME type is added', 'mediaSchema/0/acceptedTypes', ['image/png', 'image/jpeg', 'image/webp']],
    ['MIME types are covered by a wider one', 'mediaSchema/0/acceptedTypes', ['image/*']],
  ],
}

const BREAKING: Record<string, Edit[]> = {
  'opencall:225': [
    ['an argument is removed', `${args}/count`, undefined],
    ['an argument is removed behind a reference', 'argsSchema/$defs/line/properties/parts', undefined],
    ['a result field is removed', `${result}/total`, undefined],
    ['a result field may be missing', 'resultSchema/required', []],
    ['an attachment is removed', 'mediaSchema', []],
  ],
  'opencall:226': [
    ['number becomes integer', `${args}/amount/type`, 'integer'],
    ['a result number becomes integer', `${result}/total/type`, 'integer'],
    ['an enumeration loses a value', `${args}/speed/enum`, ['slow']],
    ['an enumeration becomes one value', `${args}/speed`, { const: 'slow' }],
    ['a result enumeration loses a value', `${result}/state/enum`, ['open']],
    ['a type behind a reference is narrowed', 'argsSchema/$defs/line/properties/sku', { type: 'null' }],
    ['null is no longer allowed', `${args}/note`, { type: 'string' }],
    ['an alternative is removed', `${args}/pay/oneOf`, [payment('card', 'number')]],
    ['an alternative is narrowed', `${args}/pay/oneOf/0/properties/number/type`, 'null'],
    ['a marked alternative is mixed with an unmarked one', `${args}/pay/oneOf/2`, { type: 'object' }],
    ['minLength goes up', `${args}/city/minLength`, 3],
    ['maxLength goes down', `${args}/city/maxLength`, 39],
    ['minimum goes up', `${args}/amount/minimum`, 2],
    ['minimum becomes exclusive', `${args}/amount/exclusiveMinimum`, 1],
    ['maximum goes down', `${args}/amount/maximum`, 99],
    ['maxItems goes down', `${args}/lines/maxItems`, 8],
    ['items must differ', `${args}/lines/uniqueItems`, true],
    ['a multiple is asked for', `${args}/amount/multipleOf`, 5],
    ['the pattern changes', `${args}/code/pattern`, '^[A-Z]{3}$'],
    ['a format is asked for', `${args}/city/format`, 'hostname'],
    ['unlisted arguments are refused', 'argsSchema/additionalProperties', false],
    ['unlisted arguments must be texts', 'argsSchema/additionalProperties', { type: 'string' }],
    ['a limit is added beside a reference', `${args}/lines/items/required`, ['parts']],
    ['a condition is added', 'argsSchema/allOf', [{ required: ['count'] }]],
    ['something is excluded', `${args}/city/not`, { const: 'Bern' }],
    ['maxBytes goes down', 'mediaSchema/0/maxBytes', 999],
  ],
  'opencall:227': [
    ['an optional argument becomes required', 'argsSchema/required', ['city', 'count']],
    ['an optional argument becomes required behind a reference', 'argsSchema/$defs/line/required', ['sku', 'parts']],
    ['an optional attachment becomes required', 'mediaSchema/0/required', true],
    [
      'a required attachment is added',
      'mediaSchema/1',
      { name: 'map', required: true, acceptedTypes: [], maxBytes: 5 },
    ],
    ['an idempotency key becomes required', 'idempotencyRequired', true],
    ['a scope becomes required', 'authScopes', ['orders:write', 'orders:admin']],
  ],
  'opencall:228': [['async becomes sync', 'executionModel', 'sync']],
  'opencall:229': [['a MIME type is removed', 'mediaSchema/0/acceptedTypes', ['image/png']]],
}

function rows(table: Record<string, Edit[]>) {
  return Object.entries(table).flatMap(([id, edits]) => edits.map(([what, path, value]) => ({ id, what, path, value })))
}

it.each(rows(SAFE))('safe: $what', ({ id, path, value }) => {
  verifies(id)
  const changes = changesOf(edited(path, value))

  expect(changes).not.toEqual([])
  expect(changes.filter(({ kind }) => kind === 'breaking')).toEqual([])
})

it.each(rows(BREAKING))('breaking: $what', ({ id, path, value }) => {
  verifies(id)
  const found = changesOf(edited(path, value)).filter(({ kind }) => kind === 'breaking')

  expect(found.map(({ op }) => op)).toContain('v1:orders.place')
  expect(found.every((change) => change.path.startsWith(`/${path.split('/')[0]}`))).toBe(true)
})

it('a renamed field is found as removed, with a guess at its new name', () => {
  verifies('opencall:225')
  const after = edited(`${args}/places`, { type: 'integer' }, edited(`${args}/count`, undefined))

  expect(changesOf(after)).toContainEqual({
    op: 'v1:orders.place',
    path: '/argsSchema/properties/count',
    kind: 'breaking',
    message: 'field "count" was removed (or renamed to "places")',
  })
})
