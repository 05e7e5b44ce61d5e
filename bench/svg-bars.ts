/** Draws horizontal bars as SVG. Text stays text, and colours follow the reader's light or dark theme. */
import { drawPage, drawText, tenths } from './svg.ts'

export interface Bar {
  label: string
  value: number
  /** The uncertainty of the value: an interval, or the middle half of the measurements. */
  spread?: { low: number; high: number }
  /** The text after the bar. */
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

const BARS_AT = 240
const BARS_WIDTH = 340
const ROW = 26
const BAR = 14
const HEADING = 30
const TOP = 64

const STYLE = `
  .heading { font-weight: 600 } .ours { fill: #0969da } .limit { fill: #8c959f } .other { fill: #c0c7d0 }
  .axis { stroke: #8c959f; stroke-dasharray: 3 3 } .spread { stroke: #24292f; stroke-width: 1.5 }`

const DARK_STYLE = `
    .ours { fill: #4493f8 } .limit { fill: #7d8590 } .other { fill: #4b535d }
    .axis { stroke: #7d8590 } .spread { stroke: #e6edf3 }`

/** The bars of all groups share one scale; the dashed line is at 1. */
export function drawBars({ title, subtitle, groups }: BarChart): string {
  const all = groups.flatMap(({ bars }) => bars)
  const largest = Math.max(1, ...all.flatMap(({ value, spread }) => [value, spread?.high ?? 0]))
  const x = (value: number) => BARS_AT + (value / largest) * BARS_WIDTH
  const parts: string[] = []
  let y = TOP
  for (const { heading, bars } of groups) {
    parts.push(drawText(16, y + 18, heading, 'heading'))
    y += HEADING
    parts.push(
      `<line class="axis" x1="${tenths(x(1))}" x2="${tenths(x(1))}" y1="${y - 4}" y2="${y + bars.length * ROW - 6}"/>`,
    )
    for (const bar of bars) {
      parts.push(drawBar(bar, y, x))
      y += ROW
    }
  }
  return drawPage({ title, subtitle, height: y + 12, style: STYLE, darkStyle: DARK_STYLE }, parts)
}

function drawBar({ label, value, spread, note, kind }: Bar, y: number, x: (value: number) => number): string {
  const middle = y + BAR / 2
  const end = Math.max(x(value), x(spread?.high ?? 0))
  const whisker =
    spread && spread.high > spread.low
      ? `<line class="spread" x1="${tenths(x(spread.low))}" x2="${tenths(x(spread.high))}" y1="${middle}" y2="${middle}"/>`
      : ''
  return [
    drawText(32, y + 12, label),
    `<rect class="${kind}" x="${BARS_AT}" y="${y}" width="${tenths(Math.max(1, x(value) - BARS_AT))}" height="${BAR}" rx="2"/>`,
    whisker,
    drawText(tenths(end + 8), y + 12, note, 'quiet'),
  ].join('')
}
