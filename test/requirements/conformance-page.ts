/**
 * Renders docs/conformance.md: every requirement with the test files that prove it, or the reason why no test does yet.
 */
import type { Specification } from './catalogue.ts'
import type { Citation } from './gate.ts'

export interface PageInput {
  specifications: readonly Specification[]
  notYetBuilt: ReadonlyMap<string, string>
  citations: readonly Citation[]
}

export function renderConformancePage({ specifications, notYetBuilt, citations }: PageInput): string {
  const provers = new Map<string, Set<string>>()
  for (const { id, file, passed } of citations) {
    if (passed) provers.set(id, (provers.get(id) ?? new Set()).add(file))
  }

  const status = (id: string): string => {
    const files = [...(provers.get(id) ?? [])].sort()
    if (files.length > 0) return files.map((file) => `\`${file}\``).join(', ')
    const reason = notYetBuilt.get(id)
    return reason ? `not yet built: ${reason}` : '**not proven**'
  }

  const lines = [
    '# Conformance',
    '',
    'The requirements of each specification, with the tests that prove them. `npm run docs:conformance` writes this page, and',
    '`npm test` fails if it is out of date. The level is from the text. REQUIRED: the prose requires it without a keyword.',
    'IMPLIED: it follows from a field, a table or prose.',
  ]
  for (const { title, version, requirements } of specifications) {
    const proven = requirements.filter(({ id }) => provers.has(id)).length
    lines.push('', `## ${title} ${version}`, '', `${proven} of ${requirements.length} requirements proven by a test.`)
    for (const section of new Set(requirements.map((requirement) => requirement.section))) {
      lines.push('', `### ${section}`, '', '| id | level | actor | requirement | status |', '|---|---|---|---|---|')
      for (const { id, level, actor, text } of requirements.filter((requirement) => requirement.section === section)) {
        lines.push(`| ${id} | ${level} | ${actor} | ${cell(text)} | ${status(id)} |`)
      }
    }
  }
  return `${lines.join('\n')}\n`
}

/** A bar ends a table cell even inside backticks, and `<form>` outside them would be parsed as HTML. */
function cell(text: string): string {
  return text
    .split('`')
    .map((piece, index) => (index % 2 === 0 ? piece.replaceAll('<', '&lt;') : piece))
    .join('`')
    .replaceAll('|', '\\|')
}
