/** Draws `docs/bench/growth-*.svg` from results.json alone: the cost of a call by size, one plot for each series. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { placeOf, type Results } from './results.ts'
import { GROWING, type Growing, MODELS } from './suites/growth-series.ts'
import type { Row } from './suites/suite.ts'
import { drawLines, type Line } from './svg-lines.ts'

const FOLDER = new URL('../docs/bench/', import.meta.url)

type Point = Row & { cpuUs: number }

/** Returns the names of the written files. */
export function drawGrowth(results: Pick<Results, 'rows' | 'runs'>): string[] {
  const { rows } = results
  mkdirSync(FOLDER, { recursive: true })
  return GROWING.flatMap((growing) => {
    const lines = MODELS.map((model) => lineOf(rows, growing, model)).filter(({ points }) => points.length > 1)
    if (lines.length === 0) return []
    const file = `growth-${growing.replace(' ', '-')}.svg`
    const chart = drawLines({
      title: `What a call costs, by ${growing}`,
      subtitle: `CPU µs per call of the server's process · ${placeOf('growth', results)}`,
      sizes: growing,
      lines,
    })
    writeFileSync(new URL(file, FOLDER), chart)
    return [`docs/bench/${file}`]
  })
}

function lineOf(rows: readonly Row[], growing: Growing, model: (typeof MODELS)[number]): Line {
  const own = rows.filter(
    (row): row is Point =>
      row.suite === 'growth' &&
      row.cpuUs !== undefined &&
      row.figures?.[growing] !== undefined &&
      row.contender.endsWith(`, ${model}`),
  )
  const points = own.map(({ figures, cpuUs }) => ({
    size: figures?.[growing] ?? 0,
    value: cpuUs,
    ...quartiles(figures),
  }))
  return { label: model, kind: model, points }
}

function quartiles({ 'low µs': low, 'high µs': high }: Row['figures'] = {}) {
  return low === undefined || high === undefined ? {} : { spread: { low, high } }
}
