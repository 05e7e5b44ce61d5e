/** CSV as a table. Cells are text: a formula is words. */
import { useMemo } from 'preact/hooks'
import { seenParts } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/explore.ts'
import { Windowed } from '../windowed.tsx'
import { parseCsv } from './csv.ts'

const MAX_ROWS = 100_000
const ROW = 26
const MAX_CELL = 300

export function CsvView({ text, separator }: { text: string; separator?: string }) {
  const { rows, isWhole } = useMemo(() => parseCsv(text, MAX_ROWS, separator), [text, separator])
  const [head = [], ...body] = rows
  return (
    <div class="csv">
      {!isWhole && <p class="quiet">{texts.cutTable(MAX_ROWS)}</p>}
      <div class="csv-row csv-head">
        {head.map((cell, at) => (
          <span key={at} class="clip" title={cell}>
            {seenParts(cell.slice(0, MAX_CELL))}
          </span>
        ))}
      </div>
      <Windowed
        class={body.length > 20 ? 'csv-rows tall' : 'csv-rows'}
        label={texts.views.table}
        count={body.length}
        rowHeight={ROW}
        row={(index) => (
          <div key={index} class="csv-row">
            {body[index]?.map((cell, at) => (
              <span key={at} class="clip" title={cell.slice(0, MAX_CELL)}>
                {seenParts(cell.slice(0, MAX_CELL))}
              </span>
            ))}
          </div>
        )}
      />
    </div>
  )
}
