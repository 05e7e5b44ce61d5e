/** Confirms a change of many runs: how many, which operations, and why. Selections larger than a request are split. */
import { useMutation } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import type { Server } from '../api/server.ts'
import type { CallSummary, Selection } from '../api/types.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Failure } from '../design/feedback.tsx'
import { Segments } from '../design/tabs.tsx'
import { countOf } from '../design/time.tsx'
import { useWhy, WhyField } from '../run/why-field.tsx'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/runs.ts'

export type BulkAction = 'cancel' | 'replay' | 'dismiss'

interface BulkDialogProps {
  action: BulkAction
  selection: Selection
  /** Some of the runs, to say which operations they are of. */
  preview: readonly CallSummary[]
  count: number
  onClose(): void
  onDone(): void
}

const TITLES = { cancel: texts.bulk.cancelTitle, replay: texts.bulk.replayTitle, dismiss: texts.bulk.dismissTitle }
const VERBS = { cancel: texts.cancel, replay: texts.replay, dismiss: texts.bulk.dismiss }
const CALLERS = [
  { name: 'owner', label: texts.bulk.asOwner },
  { name: 'me', label: texts.bulk.asMe },
] as const
const MOST_IDS = 200

export function BulkDialog({ action, selection, preview, count, onClose, onDone }: BulkDialogProps) {
  const { server, toasts, announce } = usePage()
  const why = useWhy()
  const [as, setAs] = useState<'owner' | 'me'>('owner')
  const change = useMutation({
    mutationFn: (reason: string) => changeAll(server, action, selection, as, reason),
    onSuccess: ({ done, left }) => {
      const text = texts.bulk.done(countOf(done), countOf(left))
      announce(text)
      toasts.show({ text: `${VERBS[action]}: ${text}`, tone: 'ok' })
      onDone()
    },
  })
  const operations = Map.groupBy(preview, (run) => run.operation)
  return (
    <Dialog title={TITLES[action]} onClose={onClose}>
      <p>{texts.bulk.affects(countOf(count))}</p>
      <ul class="bulk-preview">
        {[...operations].slice(0, 6).map(([operation, runs]) => (
          <li key={operation}>
            <span class="mono clip">{operation}</span>
            <span class="faint number">{selection.ids ? countOf(runs.length) : ''}</span>
          </li>
        ))}
      </ul>
      {selection.filter && <p class="quiet">{texts.bulk.changed}</p>}
      {action === 'replay' && (
        <div class="field">
          <span class="label">{texts.bulk.as}</span>
          <Segments label={texts.bulk.as} options={CALLERS} value={as} onChange={(name) => setAs(name)} />
        </div>
      )}
      <WhyField why={why} autoFocus />
      {change.error && <Failure error={change.error} />}
      <div class="actions">
        <Button onClick={onClose}>{texts.bulk.back}</Button>
        <Button
          tone={action === 'replay' ? 'primary' : 'danger primary'}
          disabled={change.isPending}
          onClick={() => why.given((reason) => change.isPending || change.mutate(reason))}
        >
          {VERBS[action]} {countOf(count)}
        </Button>
      </div>
    </Dialog>
  )
}

interface Tally {
  done: number
  left: number
}

async function changeAll(
  server: Server,
  action: BulkAction,
  selection: Selection,
  as: 'owner' | 'me',
  why: string,
): Promise<Tally> {
  const { ids } = selection
  if (!ids) return changeSome(server, action, selection, as, why)
  const total = { done: 0, left: 0 }
  for (let from = 0; from < ids.length; from += MOST_IDS) {
    const some = await changeSome(server, action, { ids: ids.slice(from, from + MOST_IDS) }, as, why)
    total.done += some.done
    total.left += some.left
  }
  return total
}

async function changeSome(
  server: Server,
  action: BulkAction,
  selection: Selection,
  as: 'owner' | 'me',
  why: string,
): Promise<Tally> {
  if (action === 'replay') {
    const { started, refused } = await server.call('v1:callplane.calls.replay', { ...selection, as, why })
    return { done: started.length, left: refused.length }
  }
  const name = action === 'cancel' ? 'v1:callplane.calls.cancel' : 'v1:callplane.deadletters.dismiss'
  const { done, skipped } = await server.call(name, { ...selection, why })
  return { done: done.length, left: skipped.length }
}
