/** The newest values of a stream as a line, with the same facts in words. */
import { useEffect, useRef } from 'preact/hooks'
import { texts } from '../../texts/en/explore.ts'

const POINTS = 600

export function Chart({ values, path }: { values: readonly number[]; path: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (canvas.current) draw(canvas.current, values)
  })
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const newest = values.at(-1)
  return (
    <figure class="frames-chart">
      <canvas ref={canvas} role="img" aria-label={texts.chartOf(path)} />
      <figcaption class="faint number">
        {texts.chartOf(path)}
        {newest !== undefined && ` · ${texts.chartNow(newest, low, high)}`}
      </figcaption>
    </figure>
  )
}

export { POINTS as CHART_POINTS }

function draw(canvas: HTMLCanvasElement, values: readonly number[]): void {
  const pen = canvas.getContext('2d')
  if (!pen) return
  const scale = devicePixelRatio
  const { clientWidth: width, clientHeight: height } = canvas
  canvas.width = width * scale
  canvas.height = height * scale
  pen.scale(scale, scale)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const span = high - low || 1
  pen.strokeStyle = getComputedStyle(canvas).color
  pen.lineWidth = 1.5
  pen.lineJoin = 'round'
  pen.beginPath()
  for (const [index, value] of values.entries()) {
    const x = (index / Math.max(1, values.length - 1)) * (width - 4) + 2
    const y = height - 6 - ((value - low) / span) * (height - 12)
    if (index === 0) pen.moveTo(x, y)
    else pen.lineTo(x, y)
  }
  pen.stroke()
}
