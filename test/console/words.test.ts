/** All words of the page stand in its catalogue, console/src/texts: no component and no attribute has its own. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../console/src')
/** Attributes that a person reads or hears. */
const SPOKEN = new Set(['aria-label', 'title', 'placeholder', 'alt', 'label'])
/** The catalogue, code in other languages that is shown as it is, and the names of protocols. */
const ELSEWHERE = /^(?:texts|explore\/(?:snippets|wires))\//
/** A header as it is sent. */
const SENT = new Set(['Bearer token'])
const SENTENCE = /^[A-Z][a-z]+ .*[a-z]/

/** Words outside the catalogue, as a person would see them. */
function wordsIn(name: string, source: string): string[] {
  const kind = name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, kind)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && /\p{L}{2}/u.test(node.text) && !isKey(node.parent)) found.push(node.text.trim())
    if (
      ts.isStringLiteralLike(node) &&
      !SENT.has(node.text) &&
      (isSpoken(node) || (SENTENCE.test(node.text) && !isThrown(node)))
    )
      found.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** The names of keys are printed on the keyboard, and a value of JSON is one in every language. */
function isKey(parent: ts.Node): boolean {
  return ts.isJsxElement(parent) && ['kbd', 'code'].includes(parent.openingElement.tagName.getText())
}

function isSpoken({ parent, text }: ts.StringLiteralLike): boolean {
  return ts.isJsxAttribute(parent) && SPOKEN.has(parent.name.getText()) && /\p{L}/u.test(text)
}

/** A mistake in the program, not in what a person does. */
function isThrown({ parent }: ts.Node): boolean {
  return ts.isNewExpression(parent) && /(?:Error|Exception)$/.test(parent.expression.getText())
}

test('no component has words of its own', () => {
  const found = readdirSync(ROOT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((name) => !ELSEWHERE.test(name))
    .flatMap((name) => wordsIn(name, readFileSync(join(ROOT, name), 'utf8')).map((text) => `${name}: ${text}`))

  expect(found).toEqual([])
})

test('words in elements, attributes and values are found', () => {
  const source = `const a = <p title="Tip">Hello <kbd>Esc</kbd> {x}</p>; const b = 'One sentence here'; throw new Error('Not this one')`

  expect(wordsIn('x.tsx', source)).toEqual(['Tip', 'Hello', 'One sentence here'])
})
