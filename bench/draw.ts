/** Draws `docs/bench/*.svg` from results.json alone: one bar chart for each suite that is compared with a limit. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { placeOf, type Results } from './results.ts'
import type { Row } from './suites/suite.ts'
import { type Bar, type BarGroup, drawBars } from './svg-bars.ts'

const FOLDER = new URL('../docs/bench/', import.meta.url)

interface Chart {
  title: string
  measure: string
  /** The figure that the bars show. Default: `relative`. */
  figure?: string
}

const PER_CPU_SECOND = 'Calls per CPU second, the limit being 1'

const CHARTS: Readonly<Record<string, Chart>> = {
  sync: { title: 'A sync call: validated JSON in, validated JSON out', measure: PER_CPU_SECOND },
  durable: {
    title: 'Durable jobs in process: written, run, result written',
    measure: 'Jobs per second, the limit being 1',
    figure: 'jobs/s of the limit',
  },
  'durable http': {
    title: 'Durable calls over HTTP, from POST to done',
    measure: 'Calls per second, the limit being 1',
    figure: 'calls/s of the limit',
  },
  operations: { title: 'With 10,000 operations', measure: PER_CPU_SECOND },
}

type Relative = Row & { relative: number }

/** Returns the names of the written files. */
export function drawCharts(results: Pick<Results, 'rows' | 'runs'>): string[] {
  const { rows } = results
  mkdirSync(FOLDER, { recursive: true })
  return Object.entries(CHARTS).flatMap(([suite, { title, measure, figure }]) => {
    const own = rows.filter(isRelative).filter((row) => row.suite === suite)
    if (own.length < 2) return []
    const file = `${suite.replaceAll(' ', '-')}.svg`
    const subtitle = `${measure} · ${placeOf(suite, results)}`
    writeFileSync(new URL(file, FOLDER), drawBars({ title, subtitle, groups: groupsOf(own, figure) }))
    return [`docs/bench/${file}`]
  })
}

function isRelative(row: Row): row is Relative {
  return row.relative !== undefined
}

/** Groups the rows by their limit and sorts each group by speed, fastest first. */
function groupsOf(rows: readonly Relative[], figure: string | undefined): BarGroup[] {
  const first = rows[0]?.contender ?? ''
  const byLimit = Map.groupBy(rows, ({ limit = first }) => limit)
  return [...byLimit].map(([limit, own]) => ({
    heading: `beside ${limit}`,
    bars: own.map((row) => barOf(row, limit, figure)).sort((a, b) => b.value - a.value),
  }))
}

function barOf(row: Relative, limit: string, figure: string | undefined): Bar {
  const { contender, spread, interval = spread, cpuUs, perSecond } = row
  const value = figure === undefined ? row.relative : (row.figures?.[figure] ?? 0)
  const told = [
    value.toFixed(2),
    cpuUs === undefined ? '' : `${cpuUs.toPrecision(3)} µs`,
    perSecond === undefined ? '' : `${Math.round(perSecond).toLocaleString('en')}/s`,
  ]
  return {
    label: contender,
    value,
    // The spread and the interval apply to `relative` only.
    ...(figure === undefined && interval && { spread: interval }),
    note: told.filter((part) => part !== '').join(' · '),
    kind: contender === limit ? 'limit' : contender.startsWith('callplane') ? 'ours' : 'other',
  }
}
