/**
 * Generates the table "Who may import whom" of ARCHITECTURE.md from the import rules. Run this file to rewrite the
 * page: `npm run docs:imports`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FolderRule, folderRules } from './import-rules.ts'

const PAGE = join(import.meta.dirname, '../../ARCHITECTURE.md')
const BEGIN = '<!-- The table is generated from test/architecture/import-rules.ts: npm run docs:imports -->'
const OF_A_PROTOCOL = 'protocols/[^/]+/'
const END = '<!-- End of the table -->'

/** The current page, and the page that the rules generate. */
export function readPage(): { present: string; wanted: string } {
  const present = readFileSync(PAGE, 'utf8')
  const [from, to] = [present.indexOf(BEGIN), present.indexOf(END)]
  if (from < 0 || to < from) throw new Error('ARCHITECTURE.md has lost the marks around its table of imports.')
  return { present, wanted: `${present.slice(0, from)}${BEGIN}\n\n${renderTable()}\n${present.slice(to)}` }
}

function renderTable(): string {
  const rows = folderRules.map((rule) => `| ${foldersOf(rule.files)} | ${importsOf(rule)} |\n`)
  return `| folder | may import |\n|---|---|\n${rows.join('')}`
}

function foldersOf(files: string): string {
  return choicesIn(plain(files).replace('[^/]+', 'x'))
    .map((folder) => `\`${folder}\``)
    .join(', ')
}

function importsOf({ files, may, platform }: FolderRule): string {
  const own = may.filter((path) => path.includes('$1') || path === files)
  const others = may.filter((path) => !own.includes(path)).flatMap(wordsFor)
  return [...others, own.length > 0 ? 'its own folder' : [], platform ? 'Node and npm packages' : []].flat().join(', ')
}

function wordsFor(path: string): string[] {
  const text = plain(path)
  if (text.startsWith('(?!')) return ['everything in `src` except `cli` and `index.ts`']
  return choicesIn(text).map((name) =>
    name.startsWith(OF_A_PROTOCOL) ? `a protocol's \`${name.slice(OF_A_PROTOCOL.length)}\`` : `\`${name}\``,
  )
}

/** Turns a regular expression of the rules into a path: without its anchors, exceptions, escapes and last slash. */
function plain(path: string): string {
  return path
    .replace(/^\^(?:src\/)?|\$$|\\/g, '')
    .replace(/\/\(\?!\(\?:[^)]*\)\/\)$/, '')
    .replace(/\/$/, '')
}

/** Expands `((?:stores|objects)/x)` to `stores/x` and `objects/x`. */
function choicesIn(path: string): readonly string[] {
  const [before = '', choice, after = ''] = path.split(/\((?:\?:)?([^()]*\|[^()]*)\)/)
  return (choice ?? '').split('|').map((name) => `${before}${name}${after}`.replace(/[()]/g, ''))
}

if (import.meta.main) writeFileSync(PAGE, readPage().wanted)
