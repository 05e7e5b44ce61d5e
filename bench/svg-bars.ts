/** Horizontal bars as an SVG of our own: text stays text, and colours follow the reader's light or dark. */

export interface Bar {
  label: string
  value: number
  /** Where the middle half of the measurements lies. */
  spread?: { low: number; high: number }
  /** What stands behind the bar. */
  note: string
  kind: 'ours' | 'limit' | 'other'
}

export interface BarGroup {
  heading: string
  bars: readonly Bar[]
}

export interface BarChart {
  title: string
  subtitle: string
  groups: readonly BarGroup[]
}

const WIDTH = 800
const BARS_AT = 240
const BARS_WIDTH = 340
const ROW = 26
const BAR = 14
const HEADING = 30
const TOP = 64

const STYLE = `
  .ground { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .quiet { fill: #57606a } .heading { font-weight: 600 }
  .ours { fill: #0969da } .limit { fill: #8c959f } .other { fill: #c0c7d0 }
  .axis { stroke: #8c959f; stroke-dasharray: 3 3 } .spread { stroke: #24292f; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } text { fill: #e6edf3 } .quiet { fill: #9198a1 }
    .ours { fill: #4493f8 } .limit { fill: #7d8590 } .other { fill: #4b535d }
    .axis { stroke: #7d8590 } .spread { stroke: #e6edf3 }
  }`

/** The bars of all groups have one scale; the dashed line is at 1. */
export function drawBars({ title, subtitle, groups }: BarChart): string {
  const all = groups.flatMap(({ bars }) => bars)
  const largest = Math.max(1, ...all.flatMap(({ value, spread }) => [value, spread?.high ?? 0]))
  const x = (value: number) => BARS_AT + (value / largest) * BARS_WIDTH
  const parts: string[] = []
  let y = TOP
  for (const { heading, bars } of groups) {
    parts.push(text(16, y + 18, heading, 'heading'))
    y += HEADING
    parts.push(`<line class="axis" x1="${at(x(1))}" x2="${at(x(1))}" y1="${y - 4}" y2="${y + bars.length * ROW - 6}"/>`)
    for (const bar of bars) {
      parts.push(drawBar(bar, y, x))
      y += ROW
    }
  }
  const height = y + 12
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>`,
    text(16, 28, title, 'title'),
    text(16, 48, subtitle, 'quiet'),
    ...parts,
    '</svg>\n',
  ].join('\n')
}

function drawBar({ label, value, spread, note, kind }: Bar, y: number, x: (value: number) => number): string {
  const middle = y + BAR / 2
  const end = Math.max(x(value), x(spread?.high ?? 0))
  const whisker =
    spread && spread.high > spread.low
      ? `<line class="spread" x1="${at(x(spread.low))}" x2="${at(x(spread.high))}" y1="${middle}" y2="${middle}"/>`
      : ''
  return [
    text(32, y + 12, label),
    `<rect class="${kind}" x="${BARS_AT}" y="${y}" width="${at(Math.max(1, x(value) - BARS_AT))}" height="${BAR}" rx="2"/>`,
    whisker,
    text(at(end + 8), y + 12, note, 'quiet'),
  ].join('')
}

function text(x: number, y: number, said: string, kind?: string): string {
  return `<text x="${x}" y="${y}"${kind === undefined ? '' : ` class="${kind}"`}>${escapeText(said)}</text>`
}

function at(value: number): number {
  return Math.round(value * 10) / 10
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

export function escapeText(said: string): string {
  return said.replace(/[&<>]/g, (character) => ESCAPES[character] ?? character)
}
