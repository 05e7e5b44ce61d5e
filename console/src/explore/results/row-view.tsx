/** A large text in rows: only those in sight are in the document, and parts of JSON can be closed. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Button, IconButton } from '../../design/button.tsx'
import { seenParts } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/explore.ts'
import { Windowed } from '../windowed.tsx'
import { type Folds, fold, placeOfRow, rowAtPlace, shownCount, unfold } from './folds.ts'
import { JsonRows } from './json-rows.ts'
import { JsonTokens } from './json-tokens.tsx'
import type { RowSource } from './line-index.ts'
import { TextRows } from './text-rows.ts'

const ROW = 20
/** Characters between two chances to draw: some milliseconds of work. */
const STEP = 400_000
const PAUSE_MS = 1
const MAX_SHOWN = 24

interface RowViewProps {
  text: string
  language: 'json' | 'text'
  label: string
}

export function RowView({ text, language, label }: RowViewProps) {
  const rows = useRows(text, language)
  const [folds, setFolds] = useState<Folds>([])
  const [show, setShow] = useState<{ row: number }>()
  /** Where a text was found that is not read yet. */
  const [sought, setSought] = useState<number>()
  useEffect(() => {
    setFolds([])
    setShow(undefined)
    setSought(undefined)
  }, [text, language])
  const count = shownCount(folds, rows.count)
  const isReached = sought !== undefined && rows.readTo > sought
  useEffect(() => {
    if (sought === undefined || !isReached) return
    setShow({ row: placeOfRow(folds, rows.rowAt(sought)) })
    setSought(undefined)
  }, [sought, isReached])
  const toggle = (row: number, end: number) =>
    setFolds((known) => (known.some(({ from }) => from === row) ? unfold(known, row) : fold(known, row, end - 1)))
  return (
    <div class="row-view">
      {rows.count > MAX_SHOWN && (
        <Find
          text={text}
          count={rows.count}
          isDone={rows.isDone}
          isWaiting={sought !== undefined}
          onFound={setSought}
        />
      )}
      <Windowed
        class={count > MAX_SHOWN ? 'code-rows tall' : 'code-rows'}
        label={label}
        count={count}
        rowHeight={ROW}
        show={show}
        row={(place) => {
          const index = rowAtPlace(folds, place)
          return (
            <CodeRow
              key={index}
              rows={rows}
              index={index}
              isJson={language === 'json'}
              isClosed={folds.some(({ from }) => from === index)}
              onToggle={toggle}
            />
          )
        }}
      />
    </div>
  )
}

/** Reads the text step by step, and lets the page draw in between. */
function useRows(text: string, language: 'json' | 'text'): RowSource {
  const rows = useMemo<RowSource>(() => {
    const source = language === 'json' ? new JsonRows(text) : new TextRows(text)
    source.step(STEP)
    return source
  }, [text, language])
  const [, draw] = useState(0)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const work = () => {
      rows.step(STEP)
      draw((count) => count + 1)
      if (!rows.isDone) timer = setTimeout(work, PAUSE_MS)
    }
    if (!rows.isDone) timer = setTimeout(work, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [rows])
  return rows
}

interface CodeRowProps {
  rows: RowSource
  index: number
  isJson: boolean
  isClosed: boolean
  onToggle(row: number, end: number): void
}

function CodeRow({ rows, index, isJson, isClosed, onToggle }: CodeRowProps) {
  const { text, indent, continues } = rows.row(index)
  const end = rows.closedBy(index)
  return (
    <div class="code-row">
      <span class="line-number" aria-hidden="true">
        {index + 1}
      </span>
      {isJson && end !== undefined ? (
        <IconButton
          icon={isClosed ? 'right' : 'down'}
          label={isClosed ? texts.open : texts.close}
          size="small"
          aria-expanded={!isClosed}
          onClick={() => onToggle(index, end)}
        />
      ) : (
        <span class="gutter" />
      )}
      <code style={{ paddingInlineStart: `${indent * 1.25}rem` }}>
        {isJson && !continues ? <JsonTokens text={text} /> : seenParts(text)}
        {isClosed && <span class="faint">…</span>}
      </code>
    </div>
  )
}

interface FindProps {
  text: string
  count: number
  /** All rows are read. */
  isDone: boolean
  /** The place that was found is not read yet. */
  isWaiting: boolean
  onFound(offset: number): void
}

function Find({ text, count, isDone, isWaiting, onFound }: FindProps) {
  const [wanted, setWanted] = useState('')
  const [isMissing, setMissing] = useState(false)
  const from = useRef(0)
  const next = () => {
    if (wanted === '') return
    const after = text.indexOf(wanted, from.current)
    const found = after < 0 ? text.indexOf(wanted) : after
    setMissing(found < 0)
    if (found < 0) return
    from.current = found + 1
    onFound(found)
  }
  return (
    <search class="find-in">
      <input
        class="input"
        type="search"
        value={wanted}
        placeholder={texts.find}
        aria-label={texts.find}
        onInput={(event) => {
          from.current = 0
          setMissing(false)
          setWanted(event.currentTarget.value)
        }}
        onKeyDown={(event) => event.key === 'Enter' && next()}
      />
      <Button size="small" onClick={next} disabled={wanted === ''}>
        {texts.findNext}
      </Button>
      <span class="faint number" role="status">
        {isMissing ? texts.notFound : isWaiting ? texts.foundBelow : texts.rows(count, isDone)}
      </span>
    </search>
  )
}
