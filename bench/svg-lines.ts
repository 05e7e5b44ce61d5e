/** Lines over sizes that grow tenfold as an SVG of our own, in the colours of the bars: text stays text, light or dark. */

import { escapeText } from './svg-bars.ts'

export interface Line {
  label: string
  kind: 'sync' | 'async'
  points: readonly { size: number; value: number; spread?: { low: number; high: number } }[]
}

export interface LineChart {
  title: string
  subtitle: string
  /** Under the horizontal axis. */
  sizes: string
  lines: readonly Line[]
}

const WIDTH = 800
const HEIGHT = 360
const LEFT = 64
const RIGHT = 660
const TOP = 72
const BOTTOM = 300

const STYLE = `
  .ground { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .quiet { fill: #57606a } .middle { text-anchor: middle }
  .end { text-anchor: end } .grid { stroke: #d0d7de } .line { fill: none; stroke-width: 2 }
  .sync { stroke: #0969da } .async { stroke: #bf5af2 } circle.sync { fill: #0969da } circle.async { fill: #bf5af2 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #30363d }
    .sync { stroke: #4493f8 } circle.sync { fill: #4493f8 } .async { stroke: #d2a8ff } circle.async { fill: #d2a8ff }
  }`

/** The vertical axis begins at nothing, so that a line that looks flat is flat. */
export function drawLines({ title, subtitle, sizes, lines }: LineChart): string {
  const all = lines.flatMap(({ points }) => points)
  const steps = [...new Set(all.map(({ size }) => size))].sort((a, b) => a - b)
  const step = niceStep(Math.max(...all.map(({ value, spread }) => Math.max(value, spread?.high ?? 0))))
  const highest = step * Math.ceil(Math.max(...all.map(({ value }) => value * 1.1)) / step)
  const x = (size: number) => LEFT + ((steps.indexOf(size) + 0.5) / steps.length) * (RIGHT - LEFT)
  const y = (value: number) => BOTTOM - (Math.min(value, highest) / highest) * (BOTTOM - TOP)
  const marks = Array.from({ length: Math.round(highest / step) + 1 }, (_, at) => at * step)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    text(16, 28, title, 'title'),
    text(16, 48, subtitle, 'quiet'),
    ...marks.map((mark) => `${horizontal(y(mark))}${text(LEFT - 8, y(mark) + 4, String(mark), 'quiet end')}`),
    ...steps.map((size) => text(x(size), BOTTOM + 20, size.toLocaleString('en'), 'quiet middle')),
    text((LEFT + RIGHT) / 2, BOTTOM + 42, sizes, 'middle'),
    ...lines.map((line) => drawLine(line, x, y)),
    '</svg>\n',
  ].join('\n')
}

function drawLine({ label, kind, points }: Line, x: (size: number) => number, y: (value: number) => number): string {
  const last = points.at(-1)
  if (!last) return ''
  const path = points.map(({ size, value }) => `${round(x(size))},${round(y(value))}`).join(' ')
  const dots = points.map(({ size, value, spread }) => {
    const [cx, low, high] = [round(x(size)), round(y(spread?.low ?? value)), round(y(spread?.high ?? value))]
    return `<line class="${kind}" x1="${cx}" x2="${cx}" y1="${low}" y2="${high}"/><circle class="${kind}" cx="${cx}" cy="${round(y(value))}" r="4"/>`
  })
  const said = `${label} · ${last.value.toPrecision(3)} µs`
  return `<polyline class="line ${kind}" points="${path}"/>${dots.join('')}${text(RIGHT - 8, y(last.value) + 4, said)}`
}

/** One, two or five of some power of ten, for about five marks. */
function niceStep(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(highest / 5))
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= highest / 5) ?? 10)
}

function horizontal(y: number): string {
  return `<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${round(y)}" y2="${round(y)}"/>`
}

function text(x: number, y: number, said: string, kind?: string): string {
  return `<text x="${round(x)}" y="${round(y)}"${kind === undefined ? '' : ` class="${kind}"`}>${escapeText(said)}</text>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
