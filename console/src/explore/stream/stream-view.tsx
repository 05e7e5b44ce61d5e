/** The frames of a stream while they arrive: count, rate, chart and the newest rows. Drawn a few times a second. */
import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../design/button.tsx'
import { SaveButton } from '../../design/save-file.tsx'
import { seenParts } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/explore.ts'
import { Windowed } from '../windowed.tsx'
import { CHART_POINTS, Chart } from './chart.tsx'
import type { FrameLog } from './frame-log.ts'

/** A person cannot read faster, and a frame of the page costs more than a frame of the stream. */
const DRAW_MS = 100
const ROW = 20
const MAX_ROW = 500

interface Snapshot {
  length: number
  first: number
  total: number
  bytes: number
  rate: number
  paths: readonly string[]
}

export function StreamView({ frames, isLive, name }: { frames: FrameLog; isLive: boolean; name: string }) {
  const [isPaused, setPaused] = useState(false)
  const [seen, setSeen] = useState(() => snapshotOf(frames))
  const [path, setPath] = useState<string>()
  useEffect(() => {
    if (!isPaused) setSeen(snapshotOf(frames))
    if (isPaused || !isLive) return
    const timer = setInterval(() => setSeen(snapshotOf(frames)), DRAW_MS)
    return () => clearInterval(timer)
  }, [frames, isLive, isPaused])
  const charted = path !== undefined && seen.paths.includes(path) ? path : seen.paths[0]
  return (
    <div class="stream-view">
      <div class="value-tools">
        <strong class="number">{texts.frames(seen.total)}</strong>
        <span class="faint number">
          {texts.size(seen.bytes)} · {texts.rate(seen.rate)}
        </span>
        <span class="spring" />
        {seen.paths.length > 1 && (
          <label class="chart-choice">
            <span class="only-read">{texts.series}</span>
            <select class="input" value={charted} onChange={(event) => setPath(event.currentTarget.value)}>
              {seen.paths.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        )}
        {isLive && (
          <Button
            size="small"
            icon={isPaused ? 'play' : 'pause'}
            aria-pressed={isPaused}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? texts.resume : texts.pause}
          </Button>
        )}
        <SaveButton
          blob={() => new Blob([frames.lines()], { type: 'application/x-ndjson' })}
          name={`${name}.jsonl`}
          label={texts.saveFrames}
        />
      </div>
      {isPaused && <p class="quiet body">{texts.paused}</p>}
      {seen.total === 0 && <p class="quiet body">{texts.noFrames}</p>}
      {charted !== undefined && seen.length > 1 && (
        <Chart path={charted} values={frames.values(charted, CHART_POINTS, seen.length)} />
      )}
      <Windowed
        class="code-rows tall"
        label={texts.frames(seen.total)}
        count={seen.length}
        rowHeight={ROW}
        follow={isLive && !isPaused}
        row={(index) => (
          <div class="code-row" key={seen.first + index}>
            <span class="line-number">{seen.first + index}</span>
            <code>{seenParts(frames.frameNumber(seen.first + index).slice(0, MAX_ROW))}</code>
          </div>
        )}
      />
    </div>
  )
}

function snapshotOf(frames: FrameLog): Snapshot {
  const { length, first, total, bytes } = frames
  return { length, first, total, bytes, rate: frames.rate(performance.now()), paths: frames.numericPaths() }
}
