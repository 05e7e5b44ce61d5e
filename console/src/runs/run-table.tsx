/**
 * The rows in view: at most some dozens are in the page. It has the roles of a table, because the rows of a real table
 * cannot be placed.
 */
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { CallSummary } from '../api/types.ts'
import { classes } from '../design/button.tsx'
import { Status } from '../design/status.tsx'
import { durationOf, Time } from '../design/time.tsx'
import { useMedia, useRowWindow } from '../design/window-list.ts'
import { href } from '../routes.ts'
import { texts } from '../texts/en/runs.ts'
import { personOf } from './people.ts'
import type { RunList } from './run-list.ts'

const ROW = 38
const CARD = 74
/** Rows before the end at which the next page is asked for. */
const AHEAD = 30

interface RunTableProps {
  list: RunList
  /** Absent: it is not known. */
  total: number | undefined
  current: number
  selected: ReadonlySet<string> | 'all'
  onCurrent(index: number): void
  onToggle(id: string): void
}

export function RunTable({ list, total, current, selected, onCurrent, onToggle }: RunTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const isCards = useMedia('(max-width: 640px)')
  const runs = list.runs ?? []
  const window = useRowWindow(scroller, runs, isCards ? CARD : ROW)
  const { last, show } = window
  useEffect(() => {
    if (last > runs.length - AHEAD) list.more()
  }, [last, runs.length, list])
  useEffect(() => {
    if (current >= 0) show(current)
  }, [current])
  return (
    <div class="run-table" role="table" aria-label={texts.title} aria-rowcount={total === undefined ? -1 : total + 1}>
      <div role="rowgroup" class="head">
        <div role="row" class="run-row" aria-rowindex={1}>
          <span role="columnheader">
            <span class="only-read">{texts.keys.select}</span>
          </span>
          {Object.values(texts.columns).map((name) => (
            <span key={name} role="columnheader">
              {name}
            </span>
          ))}
        </div>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard */}
      <div role="rowgroup" class="rows" ref={scroller} tabIndex={0} aria-label={texts.title}>
        <div class="space" role="presentation" style={{ blockSize: `${window.height}px` }}>
          {window.rows.map(
            (row) =>
              row && (
                <Row
                  key={row.key}
                  element={row.element}
                  run={row.item}
                  index={row.index}
                  top={row.start}
                  isCurrent={row.index === current}
                  isSelected={selected === 'all' || selected.has(row.item.id)}
                  onCurrent={onCurrent}
                  onToggle={onToggle}
                />
              ),
          )}
        </div>
      </div>
    </div>
  )
}

interface RowProps {
  element: RefObject<HTMLDivElement>
  run: CallSummary
  index: number
  top: number
  isCurrent: boolean
  isSelected: boolean
  onCurrent(index: number): void
  onToggle(id: string): void
}

function Row({ element, run, index, top, isCurrent, isSelected, onCurrent, onToggle }: RowProps) {
  // The state says already that a call was canceled.
  const code = run.code === 'CANCELED' ? undefined : run.code
  const message = run.state === 'pending' ? run.progress?.message : undefined
  // Every row has the same elements, some of them empty, because an element shows one row after another.
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys J, K and P do the same
    <div
      ref={element}
      role="row"
      class={classes('run-row', isCurrent && 'current', isSelected && 'selected')}
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onCurrent(index)}
    >
      <span role="cell" class="pick">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={texts.select(run.operation)}
          onClick={(event) => event.stopPropagation()}
          onChange={() => onToggle(run.id)}
        />
      </span>
      <span role="cell" class="state">
        <Status call={run} />
        <span class="code mono clip on-card">{code ?? ''}</span>
      </span>
      <span role="cell" class="what clip">
        <a
          class="mono"
          href={href('run', { id: run.id })}
          title={run.operation}
          onClick={(event) => event.stopPropagation()}
        >
          {run.operation}
        </a>
        <span class="code mono">{code ?? ''}</span>
        <span class="faint">{message ?? ''}</span>
      </span>
      <span role="cell" class="who clip" title={run.owner}>
        {personOf(run.owner, run.userId)}
      </span>
      <span role="cell" class={classes('tries number', run.attempts > 1 && 'many')}>
        {run.attempts}
      </span>
      <span role="cell" class="took number">
        {run.durationMs === undefined ? '–' : durationOf(run.durationMs)}
      </span>
      <span role="cell" class="when">
        <Time at={run.createdAt} />
      </span>
    </div>
  )
}
