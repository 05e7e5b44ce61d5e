/**
 * What a run of one part of the test files knows of the other part. In CI `npm test` writes its citations to a file, and
 * `npm run test:all` judges both together. `npm test` alone takes from docs/conformance.md, as it is committed, what the
 * files prove that it leaves out.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { filesOf } from '../long-tests.ts'
import type { Citation } from './gate.ts'

export function writeCitations(file: string, citations: readonly Citation[]): void {
  writeFileSync(file, JSON.stringify(citations))
}

/** `undefined` where the first run wrote nothing: it did not get that far. */
export function readCitations(file: string): Citation[] | undefined {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text === '' ? undefined : (JSON.parse(text) as Citation[])
}

/** What the page says that the long test files prove. */
export function citationsOfLongTests(page: string, root: string): Citation[] {
  const long = new Set(globSync(filesOf('long').include, { cwd: root }))
  return [...page.matchAll(/^\| (\S+:\d+) \|.*\| (.+) \|$/gm)].flatMap(([, id = '', proof = '']) =>
    [...proof.matchAll(/`([^`]+)`/g)].flatMap(([, file = '']) => (long.has(file) ? [{ id, file, passed: true }] : [])),
  )
}
