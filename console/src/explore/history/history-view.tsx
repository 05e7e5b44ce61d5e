/** Past calls of this browser, and saved ones. */
import { useState } from 'preact/hooks'
import { Check } from '../../design/field.tsx'
import { Status } from '../../design/status.tsx'
import { Time } from '../../design/time.tsx'
import { texts } from '../../texts/en/explore.ts'
import type { CallHistory, PastCall } from './call-history.ts'
import { ClearHistory } from './clear-history.tsx'
import { SavedCalls } from './saved-calls.tsx'
import { usePastCalls } from './use-history.ts'

interface HistoryViewProps {
  history: CallHistory
  op: string
  onShow(call: PastCall): void
}

export function HistoryView({ history, op, onShow }: HistoryViewProps) {
  const calls = usePastCalls(history)
  const [isOnly, setOnly] = useState(true)
  const shown = (calls ?? []).filter((call) => !isOnly || call.op === op)
  return (
    <div class="history">
      <SavedCalls history={history} />
      <section>
        <div class="value-tools">
          <h3>{texts.history.title}</h3>
          <span class="spring" />
          <Check label={texts.history.only} checked={isOnly} onChange={setOnly} />
          <ClearHistory history={history} />
        </div>
        {calls !== undefined && shown.length === 0 && <p class="quiet body">{texts.history.empty}</p>}
        <ul class="past">
          {shown.map((call) => (
            <li key={call.id}>
              <button type="button" class="past-call" onClick={() => onShow(call)}>
                <Status
                  call={{
                    state: call.outcome === 'failed' ? 'error' : call.outcome === 'canceled' ? 'canceled' : 'complete',
                  }}
                />
                <span class="mono clip">{isOnly ? call.argsText.replaceAll(/\s+/g, ' ') : call.op}</span>
                <span class="faint number">{texts.took(call.durationMs)}</span>
                <Time at={new Date(call.at).toISOString()} ago />
              </button>
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}
