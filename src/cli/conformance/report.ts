/**
 * Renders the report for people: each finding with its request and response, then the skipped checks and the reasons.
 */
import { styleText } from 'node:util'
import type {
  ConformanceProtocol,
  Discovery,
  Evidence,
  Finding,
  Level,
  Verdict,
} from '../../testing/conformance/index.ts'
import { plainLine, plainText } from '../terminal/text.ts'

export interface Report {
  protocol: ConformanceProtocol
  url: string
  discovery: Discovery
  verdicts: readonly Verdict[]
  findings: readonly Finding[]
}

type Style = Parameters<typeof styleText>[0]
type Paint = (style: Style, text: string) => string

export function createPaint(colours: boolean): Paint {
  return (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text)
}

const TITLES: Readonly<Record<ConformanceProtocol, string>> = {
  opencall: 'OpenCALL 2026-02-10',
  oxp: 'OXP 1.0',
  otc: 'OTC 1.0',
  rest: 'Tool Execution API',
}
const COLOURS: Readonly<Record<Level, Style>> = { must: 'red', should: 'yellow', may: 'cyan' }
const WORDS: Readonly<Record<Level, string>> = { must: 'MUST', should: 'SHOULD', may: 'TASTE' }

export function renderHead({ protocol, url, discovery }: Omit<Report, 'verdicts' | 'findings'>, paint: Paint): string {
  const { called, leftOut } = discovery
  const lines = [paint('bold', `${TITLES[protocol]} at ${plainLine(url)}`), '']
  lines.push(`Called: ${called.length === 0 ? 'no operation' : called.map(plainLine).join(', ')}`)
  const withheld = leftOut.filter(({ needs }) => needs === '--side-effects')
  for (const reason of new Set(withheld.map((each) => each.reason))) {
    const names = withheld.filter((each) => each.reason === reason).map(({ op }) => plainLine(op))
    lines.push(`Not called, because it ${reason}: ${names.join(', ')}`)
  }
  if (withheld.length > 0) {
    lines.push(
      paint('dim', '  Name the ones that are safe to call in --args, or allow all of them with --side-effects.'),
    )
  }
  for (const { op, reason, needs } of leftOut.filter((each) => each.needs !== '--side-effects')) {
    lines.push(`Not called: ${plainLine(`${op} ${reason}`)}${needs === '--args' ? paint('dim', ' Use --args.') : ''}`)
  }
  return lines.join('\n')
}

export function renderFinding({ level, reason, checks, requirements, evidence }: Finding, paint: Paint): string {
  const [first, ...others] = checks
  const lines = [
    `${paint([COLOURS[level] as 'red', 'bold'], WORDS[level].padEnd(6))} ${paint('bold', plainText(reason))}`,
    '',
    `       Check ${first?.id}: ${first?.title}.`,
  ]
  for (const section of new Set(requirements.map((each) => each.section))) {
    lines.push(`       Specification, "${section}":`)
    for (const { id, level: word, text } of requirements.filter((each) => each.section === section)) {
      lines.push(paint('dim', `         ${id} [${word}] ${text}`))
    }
  }
  if (others.length > 0) lines.push(`       Also seen by ${others.map(({ id }) => id).join(', ')}.`)
  if (evidence) lines.push('', ...renderEvidence(evidence, paint))
  return lines.join('\n')
}

function renderEvidence({ sent, received }: Evidence, paint: Paint): string[] {
  const block = (sign: string, first: string, headers: Record<string, string>, body: string) => {
    const head = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
    const text = body === '' ? head : [...head, '', ...body.split(/\r?\n/)]
    return text.map((line) => `       ${paint('dim', sign)} ${plainLine(line)}`.trimEnd())
  }
  return [
    ...block('>', `${sent.method} ${sent.path}`, sent.headers, sent.body),
    '',
    ...block('<', String(received.status), received.headers, received.body),
  ]
}

const MARKS: Readonly<Record<Verdict['outcome'], string>> = {
  met: '✓',
  unmet: '✗',
  'not-applicable': '·',
  skipped: '–',
}

export function renderVerdict({ id, title, outcome, reason, level }: Verdict, paint: Paint): string {
  const why =
    reason === undefined ? '' : paint('dim', `  ${outcome === 'unmet' ? `${WORDS[level]}: ` : ''}${plainLine(reason)}`)
  const mark = outcome === 'met' ? paint('green', MARKS.met) : MARKS[outcome]
  return `${mark} ${id}: ${title}${why}`
}

export function renderSummary({ verdicts, findings }: Report, paint: Paint): string {
  const of = (outcome: Verdict['outcome']) => verdicts.filter((verdict) => verdict.outcome === outcome)
  const lines: string[] = []
  for (const [outcome, title] of [
    ['not-applicable', 'Not applicable'],
    ['skipped', 'Skipped'],
  ] as const) {
    if (of(outcome).length === 0) continue
    lines.push(`${title}:`, ...grouped(of(outcome)).map((line) => paint('dim', line)), '')
  }
  const flaws = (['must', 'should', 'may'] as const)
    .map((level) => [findings.filter((each) => each.level === level).length, WORDS[level]] as const)
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count} ${word}`)
  const found = flaws.length === 0 ? 'nothing found' : `found: ${flaws.join(', ')}`
  const counts = `${of('met').length} met, ${of('unmet').length} unmet, ${of('not-applicable').length} not applicable, ${of('skipped').length} skipped`
  lines.push(`${verdicts.length} checks: ${counts}`, paint(flaws.length === 0 ? ['green', 'bold'] : 'bold', found))
  return lines.join('\n')
}

/** Checks that need the same option share a line, and so do checks with the same reason. */
function grouped(verdicts: readonly Verdict[]): string[] {
  const groups = new Map<string, number>()
  for (const { reason = '', needs } of verdicts) {
    const line =
      needs === undefined || needs === '--args'
        ? plainLine(reason)
        : `needs ${needs}: ${NEEDS[needs] ?? plainLine(reason)}`
    groups.set(line, (groups.get(line) ?? 0) + 1)
  }
  return [...groups].map(([line, count]) => `  ${String(count).padStart(3)}  ${line}`)
}

const NEEDS: Readonly<Record<string, string>> = {
  '--token': 'what holds for a server with authentication',
  '--other-token': "whether one caller can reach another's calls",
  '--side-effects': 'operations with side effects, or name the safe ones in --args',
}
