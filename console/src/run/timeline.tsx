/** The timeline as a list. Each event has an address of its own. */
import { useEffect, useRef } from 'preact/hooks'
import type { CallDetails } from '../api/types.ts'
import { Icon } from '../design/icon.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { durationOf, Time } from '../design/time.tsx'
import { href } from '../routes.ts'
import { texts } from '../texts/en/run.ts'
import { type TimelineEvent, timelineOf } from './timeline.ts'

export function Timeline({ details, event }: { details: CallDetails; event?: string | undefined }) {
  const marked = useRef<HTMLLIElement>(null)
  useEffect(() => marked.current?.scrollIntoView({ block: 'nearest' }), [event])
  const { progress, state } = details.call
  return (
    <>
      <ol class="timeline" aria-label={texts.tabs.timeline}>
        {timelineOf(details).map((one) => (
          <li
            key={one.name}
            ref={one.name === event ? marked : null}
            class={`status ${one.tone}`}
            aria-current={one.name === event ? 'true' : undefined}
          >
            <Icon name={one.icon} />
            <Event event={one} id={details.call.id} />
          </li>
        ))}
      </ol>
      {state === 'pending' && progress && (
        <progress class="progress" value={progress.fraction} max={1} aria-label={texts.progress} />
      )}
    </>
  )
}

function Event({ event, id }: { event: TimelineEvent; id: string }) {
  const { at, until } = event
  return (
    <div class="event">
      <div class="line">
        <a class="title" href={href('run', { id }, { event: event.name })}>
          {event.title}
        </a>
        {at && (
          <span class="when faint">
            <Time at={at} />
            {until && until !== at && ` · ${durationOf(Date.parse(until) - Date.parse(at))}`}
          </span>
        )}
      </div>
      {(event.code || event.detail) && (
        <p class="detail">
          {event.code && (
            <a class="mono" href={href('error', { code: event.code })}>
              {event.code}
            </a>
          )}
          {event.code && event.detail && ' '}
          {event.detail && <SeenText text={event.detail} />}
        </p>
      )}
    </div>
  )
}
