/**
 * Draws lines over sizes that grow tenfold as SVG, in the colours of the bars. Text stays text, in light and dark
 * themes.
 */
import { drawPage, drawText, tenths } from './svg.ts'

export interface Line {
  label: string
  kind: 'sync' | 'async'
  points: readonly { size: number; value: number; spread?: { low: number; high: number } }[]
}

export interface LineChart {
  title: string
  subtitle: string
  /** The label below the horizontal axis. */
  sizes: string
  lines: readonly Line[]
}

const HEIGHT = 360
const LEFT = 64
const RIGHT = 660
const TOP = 72
const BOTTOM = 300

const STYLE = `
  .middle { text-anchor: middle } .end { text-anchor: end } .grid { stroke: #d0d7de } .line { fill: none; stroke-width: 2 }
  .sync { stroke: #0969da } .async { stroke: #bf5af2 } circle.sync { fill: #0969da } circle.async { fill: #bf5af2 }`

const DARK_STYLE = `
    .grid { stroke: #30363d } .sync { stroke: #4493f8 } circle.sync { fill: #4493f8 }
    .async { stroke: #d2a8ff } circle.async { fill: #d2a8ff }`

/** The vertical axis begins at zero, so that a line that looks flat is flat. */
export function drawLines({ title, subtitle, sizes, lines }: LineChart): string {
  const all = lines.flatMap(({ points }) => points)
  const steps = [...new Set(all.map(({ size }) => size))].sort((a, b) => a - b)
  const step = niceStep(Math.max(...all.map(({ value, spread }) => Math.max(value, spread?.high ?? 0))))
  const highest = step * Math.ceil(Math.max(...all.map(({ value }) => value * 1.1)) / step)
  const x = (size: number) => LEFT + ((steps.indexOf(size) + 0.5) / steps.length) * (RIGHT - LEFT)
  const y = (value: number) => BOTTOM - (Math.min(value, highest) / highest) * (BOTTOM - TOP)
  const marks = Array.from({ length: Math.round(highest / step) + 1 }, (_, at) => at * step)
  const page = { title, subtitle, height: HEIGHT, style: STYLE, darkStyle: DARK_STYLE }
  return drawPage(page, [
    ...marks.map((mark) => `${horizontal(y(mark))}${drawText(LEFT - 8, y(mark) + 4, String(mark), 'quiet end')}`),
    ...steps.map((size) => drawText(x(size), BOTTOM + 20, size.toLocaleString('en'), 'quiet middle')),
    drawText((LEFT + RIGHT) / 2, BOTTOM + 42, sizes, 'middle'),
    ...lines.map((line) => drawLine(line, x, y)),
  ])
}

function drawLine({ label, kind, points }: Line, x: (size: number) => number, y: (value: number) => number): string {
  const last = points.at(-1)
  if (!last) return ''
  const path = points.map(({ size, value }) => `${tenths(x(size))},${tenths(y(value))}`).join(' ')
  const dots = points.map(({ size, value, spread }) => {
    const [cx, low, high] = [tenths(x(size)), tenths(y(spread?.low ?? value)), tenths(y(spread?.high ?? value))]
    return `<line class="${kind}" x1="${cx}" x2="${cx}" y1="${low}" y2="${high}"/><circle class="${kind}" cx="${cx}" cy="${tenths(y(value))}" r="4"/>`
  })
  const said = `${label} · ${last.value.toPrecision(3)} µs`
  return `<polyline class="line ${kind}" points="${path}"/>${dots.join('')}${drawText(RIGHT - 8, y(last.value) + 4, said)}`
}

/** Returns a step of one, two or five times a power of ten, for about five marks. */
function niceStep(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(highest / 5))
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= highest / 5) ?? 10)
}

function horizontal(y: number): string {
  return `<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${tenths(y)}" y2="${tenths(y)}"/>`
}
