/** What can be done with the selected runs, or with all that the filter matches. */
import { useState } from 'preact/hooks'
import type { CallFilter, CallSummary } from '../api/types.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { countOf } from '../design/time.tsx'
import { href } from '../routes.ts'
import { useMay } from '../shell/page.ts'
import { texts } from '../texts/en/runs.ts'
import { type BulkAction, BulkDialog } from './bulk-dialog.tsx'

interface SelectionBarProps {
  selected: ReadonlySet<string> | 'all'
  runs: readonly CallSummary[]
  filter: CallFilter
  total: number | undefined
  /** Dead letters can be dismissed, too. */
  isDead?: boolean
  onSelect(selected: ReadonlySet<string> | 'all'): void
  onChanged(): void
}

export function SelectionBar({ selected, runs, filter, total, isDead, onSelect, onChanged }: SelectionBarProps) {
  const may = useMay()
  const [action, setAction] = useState<BulkAction>()
  const count = selected === 'all' ? (total ?? 0) : selected.size
  if (count === 0) return null
  const [one, other] = selected === 'all' ? [] : [...selected]
  const actions = (
    [
      ['cancel', 'callplane:operate', !isDead],
      ['replay', 'callplane:replay', true],
      ['dismiss', 'callplane:operate', isDead],
    ] as const
  ).filter(([, scope, isOffered]) => isOffered && may(scope))
  const words = { cancel: texts.cancel, replay: texts.replay, dismiss: texts.bulk.dismiss }
  return (
    <section class="selection" aria-label={texts.selected(countOf(count))}>
      <strong>{selected === 'all' ? texts.allMatching(countOf(count)) : texts.selected(countOf(count))}</strong>
      {selected !== 'all' && total !== undefined && total > selected.size && (
        <Button size="small" tone="plain" onClick={() => onSelect('all')}>
          {texts.selectAll(countOf(total))}
        </Button>
      )}
      <Button size="small" tone="plain" onClick={() => onSelect(new Set())}>
        {texts.clear}
      </Button>
      <span class="space" />
      {one && other && count === 2 && (
        <LinkButton size="small" icon="compare" href={href('compare', { a: one, b: other })}>
          {texts.compare}
        </LinkButton>
      )}
      {actions.map(([name]) => (
        <Button
          key={name}
          size="small"
          icon={name === 'replay' ? 'replay' : 'stop'}
          tone={name === 'replay' ? undefined : 'danger'}
          onClick={() => setAction(name)}
        >
          {words[name]}
        </Button>
      ))}
      {action && (
        <BulkDialog
          action={action}
          selection={
            selected === 'all'
              ? { filter: isDead ? { ...filter, deadLetter: true } : filter, expected: count }
              : { ids: [...selected] }
          }
          preview={selected === 'all' ? runs : runs.filter((run) => selected.has(run.id))}
          count={count}
          onClose={() => setAction(undefined)}
          onDone={() => {
            setAction(undefined)
            onSelect(new Set())
            onChanged()
          }}
        />
      )}
    </section>
  )
}
