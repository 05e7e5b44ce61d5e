/** Long texts from a caller that would be slow to scan if a pattern restarted at every position. */
import { describe, expect, test } from 'vitest'
import { FetchExchange } from '../../src/carriers/fetch/fetch-exchange.ts'
import { plainText } from '../../src/cli/terminal/text.ts'
import { isMediaType, isTextual } from '../../src/core/call/media.ts'
import { nearest } from '../../src/core/nearest.ts'
import { parseName } from '../../src/core/operation/names.ts'
import type { Exchange } from '../../src/core/ports/exchange.ts'
import type { Registry } from '../../src/engine/registry.ts'
import { createSearch } from '../../src/protocols/mcp/tools/search.ts'
import { preferredWaitMs } from '../../src/protocols/opencall/http/prefer.ts'
import { fromStandardIssue } from '../../src/schemas/issues.ts'
import { readCredential } from '../../src/security/identity/presented-credential.ts'
import { parseBoundary, parsePartHead } from '../../src/wire/http/part-head.ts'
import { isHostHeader } from '../../src/wire/http/site-rules.ts'
import { growth, PROPORTIONAL, textOf } from '../growth.ts'

const LENGTH = 16 * 1024

function asked(name: string, value: string): Pick<Exchange, 'header'> {
  return { header: (wanted) => (wanted === name ? value : undefined) }
}

/** Only the time counts here. */
function tried(work: () => unknown): void {
  try {
    work()
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(Error)
  }
}

describe('takes time in proportion to its length:', () => {
  test.each<[string, string, (text: string) => unknown]>([
    ['an issue that quotes open brackets', '{[', (text) => fromStandardIssue({ message: text }, {})],
    ['an issue that quotes brackets', '{}', (text) => fromStandardIssue({ message: text }, {})],
    ['an operation name of dots', 'a.', (text) => parseName(`v1:${text}!`)],
    ['a Prefer of commas and spaces', ', ', (text) => preferredWaitMs(asked('prefer', text))],
    ['a Prefer of waits', ',wait = ', (text) => preferredWaitMs(asked('prefer', text))],
    [
      'a credential of equals signs',
      '=',
      (text) => readCredential((name) => (name === 'authorization' ? `Bearer a${text}!` : undefined)),
    ],
    [
      'a credential of spaces',
      ' ',
      (text) => readCredential((name) => (name === 'authorization' ? `Bearer ${text}` : undefined)),
    ],
    ['a Host', 'a.', (text) => isHostHeader(text)],
    ['a Content-Type of parameters', ';a="\\', (text) => parseBoundary(`multipart/form-data${text}`)],
    ['the head of a part', 'a: b;c="', (text) => parsePartHead(new TextEncoder().encode(text))],
    ['a media type', 'a+', (text) => isTextual(`application/${text}`)],
    ['a media type of semicolons', '; ', (text) => isMediaType(`a/b${text}\n`)],
    ['an address', ':/', (text) => new FetchExchange({ url: `http:${text}`, method: 'GET' } as Request, '', SETTINGS)],
    ['a name that was mistyped', 'a', (text) => nearest(text, [`${text}b`], 1)],
    ['a text for the terminal', '\u001b[', plainText],
  ])('%s', (_, piece, work) => {
    expect(growth((length) => tried(() => work(textOf(piece, length))), LENGTH)).toBeLessThan(PROPORTIONAL)
  })
})

test('a search reads the beginning of a long query only: each word is looked for in every operation', () => {
  const registry = { operations: [], nextChangeAt: () => undefined } as unknown as Registry
  const search = createSearch(registry, () => ({ operations: [{ op: 'v1:orders.find' }] }), { now: () => 0 })

  expect(search(`${'a '.repeat(200)}orders`, 5).total).toBe(1)
  expect(search(`${'a '.repeat(300)}orders`, 5).total).toBe(0)
})

const SETTINGS = {
  publicUrl: undefined,
  basePath: undefined,
  bodyTimeoutMs: 1,
  idleTimeoutMs: 1,
  slowestUpload: { bytes: 1, inMs: 1 },
}
