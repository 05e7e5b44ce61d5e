/**
 * Writes tables of measured figures into Markdown pages, from results.json alone. It replaces everything between two
 * marks, such as `<!-- bench:sync -->` and `<!-- /bench:sync -->`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { partOf, type Results, requireRun, roundFigure } from './results.ts'
import { isPostgresPart } from './suites/postgres-parts.ts'
import type { Goal, Row } from './suites/suite.ts'

const ROOT = new URL('../', import.meta.url)
const PAGES = ['README.md', 'docs/performance.md', 'docs/scale.md'] as const
const MARKED = /(<!-- bench:(\w+) -->\n)[\s\S]*?(<!-- \/bench:\2 -->)/g

/** Returns the pages that have changed. */
export function writeTables(results: Results): string[] {
  return PAGES.filter((page) => {
    const file = new URL(page, ROOT)
    const before = readFileSync(file, 'utf8')
    const after = fillTables(before, results)
    if (after !== before) writeFileSync(file, after)
    return after !== before
  })
}

export function fillTables(page: string, results: Results): string {
  return page.replace(MARKED, (_all, start: string, suite: string, end: string) => {
    return `${start}\n${tablesOf(suite, results)}\n\n${end}`
  })
}

function tablesOf(mark: string, results: Results): string {
  const { rows, goals } = results
  // A mark may name a part of a suite, such as `postgres_rates`.
  const suite = mark.replaceAll('_', ' ')
  const [whole = suite] = suite.split(' ')
  const part = partOf(suite)
  const own = rows.filter((row) => row.suite === suite)
  if (own.length === 0) {
    const command = isPostgresPart(suite.slice(whole.length + 1)) ? part : whole
    return `There are no figures of this suite. \`npm run bench -- ${command}\` measures them.`
  }
  const { date, machine } = requireRun(suite, results)
  const engines = [...new Set(own.flatMap(({ engine }) => engine ?? []))]
  const ownGoals = goals.filter((goal) => goal.suite === suite)
  const isCompared = own.some(({ cpuUs, relative }) => cpuUs !== undefined || relative !== undefined)
  const verb = isCompared || engines.length > 0 ? 'Measured' : 'Simulated with costs measured'
  const on = [`${machine.cores} × ${machine.cpu} with Node ${machine.node}`, ...engines].join(', ')
  return [
    `${verb} on ${date} on ${on}.`,
    isCompared ? tableOf(headingsOf(own), own.map(cellsOf)) : figureTable(own),
    ...(ownGoals.length > 0 ? [tableOf(['goal', 'measured', ''], ownGoals.map(goalCells))] : []),
  ].join('\n\n')
}

function headingsOf(rows: readonly Row[]): string[] {
  return rows.some(({ interval }) => interval)
    ? ['server', 'CPU per call', 'calls per CPU second, relative', '95 % interval', 'relative to']
    : ['server', 'CPU per call or frame', 'per CPU second, relative', 'middle half of the rounds', 'relative to']
}

/** Of rows that compare no CPU time: a column for each figure, if all rows have the same ones. */
function figureTable(rows: readonly Row[]): string {
  const named = rows.map(({ contender, figures = {} }) => ({ contender, figures: Object.entries(figures) }))
  const names = named[0]?.figures.map(([name]) => name) ?? []
  const shown = (value: number) => String(roundFigure(value))
  if (
    named.every(({ figures }) => figures.length === names.length && figures.every(([name], at) => name === names[at]))
  )
    return tableOf(
      ['', ...names],
      named.map(({ contender, figures }) => [contender, ...figures.map(([, value]) => shown(value))]),
    )
  const cells = named.map(({ contender, figures }) => [
    contender,
    figures.map(([name, value]) => `${shown(value)} ${name}`).join(', '),
  ])
  return tableOf(['', 'figures'], cells)
}

function cellsOf({ contender, cpuUs, relative, spread, interval = spread, limit = '', figures = {} }: Row): string[] {
  const others = Object.entries(figures).map(([name, value]) => `${roundFigure(value)} ${name}`)
  const cpu = cpuUs === undefined ? [] : [`${cpuUs.toFixed(cpuUs < 10 ? 2 : 1)} µs`]
  return [
    `\`${contender}\``,
    [...cpu, ...others].join(', '),
    relative === undefined ? '' : relative.toFixed(2),
    interval && limit !== contender ? `${interval.low.toFixed(2)} to ${interval.high.toFixed(2)}` : '',
    limit === contender ? 'itself' : limit && `\`${limit}\``,
  ]
}

function goalCells({ name, goal, measured, met }: Goal): string[] {
  return [`${name}: ${goal}`, measured, met ? 'met' : 'not met']
}

function tableOf(headings: readonly string[], lines: readonly string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(headings), line(headings.map(() => '---')), ...lines.map(line)].join('\n')
}
