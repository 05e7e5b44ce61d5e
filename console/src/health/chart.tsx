/** One chart on a canvas, and the same numbers as a table for everybody who cannot use a picture. */
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { timeOf } from '../design/time.tsx'
import { Wide } from '../design/wide.tsx'
import { useMedia } from '../design/window-list.ts'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/health.ts'
import { axisTimes } from './axis-times.ts'

export interface Line {
  readonly name: string
  /** A token of the design: `--accent`. */
  readonly colour: string
  readonly isDashed?: boolean
  readonly values: readonly (number | null)[]
}

interface ChartProps {
  title: string
  times: readonly string[]
  lines: readonly Line[]
  format(value: number): string
}

const HEIGHT = 180

export function Chart({ title, times, lines, format }: ChartProps) {
  const { preferences } = usePage()
  const utc = preferences.utc.value
  return (
    <section class="panel chart" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <ul class="legend">
          {lines.map((line) => (
            <li key={line.name}>
              <svg width="14" height="8" viewBox="0 0 14 8" aria-hidden="true">
                <path
                  d="M0 4h14"
                  stroke={`var(${line.colour})`}
                  stroke-width="2"
                  stroke-dasharray={line.isDashed ? '3 2' : undefined}
                />
              </svg>
              {line.name} <strong class="number">{lastOf(line.values, format)}</strong>
            </li>
          ))}
        </ul>
      </header>
      <Canvas times={times} lines={lines} format={format} utc={utc} />
      <details>
        <summary>{texts.table}</summary>
        <Wide label={texts.table}>
          <table class="table">
            <thead>
              <tr>
                <th>{texts.time}</th>
                {lines.map((line) => (
                  <th key={line.name} class="number">
                    {line.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <td>{timeOf(time, utc)}</td>
                  {lines.map((line) => (
                    <td key={line.name} class="number">
                      {valueText(line.values[index], format)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      </details>
    </section>
  )
}

function Canvas({ times, lines, format, utc }: Omit<ChartProps, 'title'> & { utc: boolean }) {
  const place = useRef<HTMLDivElement>(null)
  const { preferences } = usePage()
  const theme = preferences.theme.value
  const isDark = useMedia('(prefers-color-scheme: dark)')
  useEffect(() => {
    const element = place.current
    if (!element) return
    const colour = (token: string) => colourOf(element, token)
    const axis = { stroke: colour('--text-3'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false },
        ...(utc && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'UTC') }),
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.15)] } },
        axes: [
          { ...axis, values: (_plot, times, _axis, _space, step) => axisTimes(times, step, utc ? 'UTC' : undefined) },
          { ...axis, size: 62, values: (_plot, values) => values.map((value) => format(value)) },
        ],
        series: [
          {},
          ...lines.map((line) => ({
            label: line.name,
            stroke: colour(line.colour),
            width: 2,
            ...(line.isDashed && { dash: [6, 4] }),
            // One sample alone makes no line.
            points: { show: line.values.filter((value) => value !== null).length < 3, size: 6 },
          })),
        ],
      },
      [times.map((time) => Date.parse(time) / 1000), ...lines.map((line) => [...line.values])],
      element,
    )
    const watcher = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    watcher.observe(element)
    return () => {
      watcher.disconnect()
      plot.destroy()
    }
  }, [times, lines, format, utc, theme, isDark])
  return <div class="canvas" ref={place} aria-hidden="true" />
}

/** A canvas knows no custom properties: the browser resolves the token on an element. */
function colourOf(element: HTMLElement, token: string): string {
  element.style.color = `var(${token})`
  const { color } = getComputedStyle(element)
  element.style.removeProperty('color')
  return color
}

function lastOf(values: readonly (number | null)[], format: (value: number) => string): string {
  return valueText(
    values.findLast((value) => value !== null),
    format,
  )
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value)
}
