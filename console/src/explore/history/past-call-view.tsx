/** A call of the history: what was sent then, and what came back. */
import { Button } from '../../design/button.tsx'
import { Time } from '../../design/time.tsx'
import { texts } from '../../texts/en/explore.ts'
import { ValueView } from '../results/result-view.tsx'
import { RowView } from '../results/row-view.tsx'
import type { Exchange } from '../run/exchange.ts'
import { ExchangeView } from '../run/exchange-view.tsx'
import { FailureView } from '../run/run-view.tsx'
import type { PastCall } from './call-history.ts'

export function PastCallView({ call, onUse }: { call: PastCall; onUse(): void }) {
  return (
    <div class="past-view">
      <div class="value-tools">
        <strong>
          {texts.history.from} <Time at={new Date(call.at).toISOString()} />
        </strong>
        <span class="faint number">{texts.took(call.durationMs)}</span>
        <span class="spring" />
        <Button size="small" icon="replay" onClick={onUse}>
          {texts.history.restore}
        </Button>
      </div>
      <RowView text={call.argsText} language="json" label={texts.arguments} />
      {call.outcome === 'value' && call.json !== undefined && <ValueView json={call.json} name={call.op} />}
      {call.outcome === 'value' && call.json === undefined && <p class="quiet body">{texts.history.tooLong}</p>}
      {call.outcome === 'failed' && (
        <FailureView
          failure={{
            kind: 'failure',
            message: call.message ?? '',
            ...(call.code !== undefined && { code: call.code }),
          }}
        />
      )}
      {call.outcome !== 'value' && call.outcome !== 'failed' && <p class="quiet body">{texts.states[call.outcome]}</p>}
      <ExchangeView exchanges={call.exchanges as Exchange[]} />
    </div>
  )
}
