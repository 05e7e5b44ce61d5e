/** Asks before a call with effects: names the caller and the arguments, and wants a high risk to be typed. */
import { useState } from 'preact/hooks'
import type { CheckResult } from '../api/types.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Notice } from '../design/feedback.tsx'
import { TextField } from '../design/field.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { useWho } from '../shell/page.ts'
import { texts } from '../texts/en/explore.ts'
import { RowView } from './results/row-view.tsx'

const HIGH = ['high', 'critical']

interface ConfirmProps {
  op: string
  argsText: string
  /** What the server says about the call, if it offers that. */
  check: CheckResult | undefined
  onRun(): void
  onClose(): void
}

export function Confirm({ op, argsText, check, onRun, onClose }: ConfirmProps) {
  const { caller } = useWho()
  const [typed, setTyped] = useState('')
  const mustType = check !== undefined && HIGH.includes(check.risk)
  const words = texts.confirm
  const owner = /(?:^|\|)anonymous$/.test(caller.owner) || caller.owner === '' ? words.anonymous : caller.owner
  const who = [owner, caller.userId, caller.tenant].filter(Boolean).join(' · ')
  return (
    <Dialog title={words.title(op)} onClose={onClose} wide>
      <p class="quiet">{words.text}</p>
      <dl class="facts">
        <dt>{words.caller}</dt>
        <dd>
          <SeenText text={who} />
        </dd>
        {check && (
          <>
            <dt>{words.risk}</dt>
            <dd>{check.risk}</dd>
          </>
        )}
      </dl>
      {check?.verdict === 'hold' && <Notice tone="warn">{words.hold}</Notice>}
      {check?.verdict === 'deny' && <Notice tone="bad">{check.reason ?? words.deny}</Notice>}
      <section class="panel" aria-label={words.args}>
        <RowView text={argsText} language="json" label={words.args} />
      </section>
      {mustType && (
        <>
          <Notice tone="warn">{words.highRisk}</Notice>
          <TextField
            label={words.type(op)}
            mono
            value={typed}
            autoComplete="off"
            autoFocus
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </>
      )}
      <div class="actions">
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button
          tone={mustType ? 'danger primary' : 'primary'}
          icon="play"
          autoFocus={!mustType}
          disabled={mustType && typed !== op}
          onClick={onRun}
        >
          {words.go}
        </Button>
      </div>
    </Dialog>
  )
}
