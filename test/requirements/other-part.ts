/**
 * The citations of the test files that a run leaves out. In CI `npm test` writes its citations to a file, and `npm run
 * test:all` judges both together. `npm test` alone reads the citations of the omitted files from the committed
 * docs/conformance.md.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { filesOf } from '../long-tests.ts'
import type { Citation } from './gate.ts'

export function writeCitations(file: string, citations: readonly Citation[]): void {
  writeFileSync(file, JSON.stringify(citations))
}

/** `undefined` if the first run wrote nothing because it did not get that far. */
export function readCitations(file: string): Citation[] | undefined {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text === '' ? undefined : (JSON.parse(text) as Citation[])
}

/** The citations of the long test files, according to the page. */
export function citationsOfLongTests(page: string, root: string): Citation[] {
  const long = new Set(globSync(filesOf('long').include, { cwd: root }))
  return [...page.matchAll(/^\| (\S+:\d+) \|.*\| (.+) \|$/gm)].flatMap(([, id = '', proof = '']) =>
    [...proof.matchAll(/`([^`]+)`/g)].flatMap(([, file = '']) => (long.has(file) ? [{ id, file, passed: true }] : [])),
  )
}
