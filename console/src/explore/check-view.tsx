/** What the server says that would happen. */
import { useEffect, useRef } from 'preact/hooks'
import type { CheckResult } from '../api/types.ts'
import { Notice } from '../design/feedback.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { texts } from '../texts/en/explore.ts'

export function CheckView({ check }: { check: CheckResult }) {
  const words = texts.checked
  const view = useRef<HTMLDivElement>(null)
  useEffect(() => view.current?.scrollIntoView({ block: 'nearest' }), [check])
  const isGood = check.valid && check.verdict === 'allow' && check.missing.length === 0 && !check.refusal
  const verdict = check.verdict === 'allow' && check.refusal ? 'deny' : check.verdict
  const title = !check.valid ? words.invalid : { allow: words.ok, hold: words.hold, deny: words.deny }[verdict]
  return (
    <div class="check-view" role="status" ref={view}>
      <Notice
        {...(!isGood && { tone: verdict === 'deny' || !check.valid ? 'bad' : 'warn' })}
        icon={isGood ? 'done' : 'info'}
      >
        <p>
          <strong>{title}</strong>. {words.effects[check.effects]} <span class="quiet">{words.nothingRan}</span>
        </p>
        {check.refusal && (
          <p>
            <SeenText text={check.refusal.message} />
          </p>
        )}
        {check.reason && check.reason !== check.refusal?.message && (
          <p>
            <SeenText text={check.reason} />
          </p>
        )}
        {check.rule && (
          <p class="quiet">
            {words.rule}: <code>{check.rule}</code>
          </p>
        )}
        {check.missing.length > 0 && <p>{words.missing(check.missing.join(', '))}</p>}
        {check.wouldJoin && <p>{words.joins}</p>}
        {check.errors.length > 0 && (
          <ul class="check-errors">
            {check.errors.map(({ path, message }) => (
              <li key={path + message}>
                <code>{path === '' ? words.whole : path}</code> <SeenText text={message} />
              </li>
            ))}
          </ul>
        )}
      </Notice>
    </div>
  )
}
