/** The pages use common words: lists phrases that hide who does what, with the replacement for each. */
import { expect, test } from 'vitest'
import { listPages, readPage } from './pages.ts'

const INSTEAD: Readonly<Record<string, string>> = {
  whoever: 'name the caller, the client or the person',
  somebody: 'name the person or the part',
  nobody: 'say what does not happen, or who may not',
  everybody: 'name the callers or the parts',
  'in turn': 'say in which order',
  'unless given': 'default: …',
  'unless configured': 'default: …',
  'unless \\S+ says otherwise': 'default: …',
  'good for': 'valid for, or say what happens',
  'what a call brought': 'secrets sent with the call',
  'without a word': 'silently',
  'of no use': 'say what happens',
}

/** The conformance page is generated from the specifications. */
const pages = listPages().filter((page) => !/^(bench|docs\/conformance)/.test(page))

function phrasesIn(page: string, text: string): string[] {
  return Object.entries(INSTEAD)
    .filter(([phrase]) => new RegExp(`\\b${phrase.replaceAll(' ', '\\s+')}\\b`, 'i').test(text))
    .map(([phrase, instead]) => `${page}: "${phrase}" (${instead})`)
}

test('the pages avoid phrases that hide who does what', () => {
  expect(pages.length).toBeGreaterThan(25)
  expect(pages.flatMap((page) => phrasesIn(page, readPage(page)))).toEqual([])
})

test('such a phrase is found, also across two lines', () => {
  expect(phrasesIn('a.md', 'It is 400 unless\ngiven, for whoever calls.')).toHaveLength(2)
})
