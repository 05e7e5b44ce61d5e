/** Differences as a table: the place, what it was, what it is. Hidden characters are visible, long values are folded. */
import { useState } from 'preact/hooks'
import { Button, classes } from '../design/button.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { countOf } from '../design/time.tsx'
import { texts } from '../texts/en/diff.ts'
import type { Difference } from './structure.ts'
import './diff.css'

/** Longer values are folded until a person opens them. */
export const FOLDED_AT = 160

interface DiffTableProps {
  differences: readonly Difference[]
  /** Heads of the two columns. Absent: there is one value, and nothing is compared. */
  sides?: { before: string; after: string } | undefined
  label: string
  /** Told when a folded value is opened. */
  onOpen?: ((path: string) => void) | undefined
}

export function DiffTable({ differences, sides, label, onOpen }: DiffTableProps) {
  const [showsSame, setShowsSame] = useState(false)
  const same = differences.filter(({ change }) => change === 'same')
  const shown = sides && !showsSame ? differences.filter(({ change }) => change !== 'same') : differences
  return (
    <div class="diff">
      {shown.length > 0 && (
        <table class="table" aria-label={label}>
          <thead>
            <tr>
              <th>{texts.place}</th>
              {sides ? (
                <>
                  <th>{sides.before}</th>
                  <th>{sides.after}</th>
                </>
              ) : (
                <th>{texts.value}</th>
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.path + one.change} class={one.change}>
                <th scope="row">
                  <span class="mono">
                    <SeenText text={one.path || texts.whole} />
                  </span>
                  {sides && one.change !== 'same' && (
                    <span class={`mark ${one.change}`}>{texts.changes[one.change]}</span>
                  )}
                </th>
                {sides && (
                  <td class={classes('before', one.change === 'same' && 'quiet')}>
                    {'before' in one && <Value value={one.before} />}
                  </td>
                )}
                <td class="after">
                  {'after' in one && <Value value={one.after} onOpen={onOpen && (() => onOpen(one.path))} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {sides && shown.length === 0 && <p class="quiet">{texts.nothing}</p>}
      {sides && same.length > 0 && (
        <Button tone="plain" size="small" onClick={() => setShowsSame(!showsSame)}>
          {showsSame ? texts.hideSame : texts.showSame(same.length)}
        </Button>
      )}
    </div>
  )
}

function Value({ value, onOpen }: { value: unknown; onOpen?: (() => void) | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const text = textOf(value)
  const isLong = text.length > FOLDED_AT && !isOpen
  return (
    <span class={typeof value === 'string' ? 'words' : 'mono'}>
      <SeenText text={isLong ? `${text.slice(0, FOLDED_AT)}…` : text} />
      {isLong && (
        <Button
          size="small"
          onClick={() => {
            setOpen(true)
            onOpen?.()
          }}
        >
          {texts.showAll(countOf(text.length))}
        </Button>
      )}
    </span>
  )
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
