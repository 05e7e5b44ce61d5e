/** How a run is going, and what came of it. */
import { LinkButton } from '../../design/button.tsx'
import { Notice } from '../../design/feedback.tsx'
import { Icon, type IconName } from '../../design/icon.tsx'
import { SeenText } from '../../design/seen-text.tsx'
import { href } from '../../routes.ts'
import { lazily } from '../../shell/lazily.tsx'
import { useMay } from '../../shell/page.ts'
import { texts } from '../../texts/en/explore.ts'
import { FileView, ValueView } from '../results/result-view.tsx'
import { RowView } from '../results/row-view.tsx'
import type { Failure } from '../wires/wire.ts'
import { isEnded, type Run, type RunState } from './run.ts'

const StreamView = lazily(async () => (await import('../stream/stream-view.tsx')).StreamView)

const LOOKS: Record<RunState['kind'], { tone: string; icon: IconName }> = {
  sending: { tone: 'busy', icon: 'busy' },
  running: { tone: 'busy', icon: 'busy' },
  receiving: { tone: 'busy', icon: 'busy' },
  streaming: { tone: 'busy', icon: 'busy' },
  value: { tone: 'ok', icon: 'done' },
  file: { tone: 'ok', icon: 'done' },
  'stream-ended': { tone: 'ok', icon: 'done' },
  failed: { tone: 'bad', icon: 'cross' },
  canceled: { tone: 'idle', icon: 'stop' },
}

export function RunView({ run }: { run: Run }) {
  const state = run.state.value
  const may = useMay()
  const look = LOOKS[state.kind]
  const isRecorded = run.requestId !== undefined && may('callplane:read')
  return (
    <div class="run-view">
      <div class="run-line" role="status">
        <span class={`status ${look.tone}`}>
          <Icon name={look.icon} />
          {texts.states[state.kind]}
        </span>
        {isEnded(state) && run.durationMs !== undefined && (
          <span class="faint number">{texts.took(run.durationMs)}</span>
        )}
        <Moving state={state} />
        <span class="spring" />
        {isRecorded && run.requestId && (
          <LinkButton size="small" tone="plain" icon="runs" href={href('run', { id: run.streamId ?? run.requestId })}>
            {texts.openRun}
          </LinkButton>
        )}
        {isRecorded && run.streamId !== undefined && (
          <LinkButton size="small" tone="plain" icon="streams" href={href('stream', { id: run.streamId })}>
            {texts.openStream}
          </LinkButton>
        )}
      </div>
      <Progress state={state} />
      <Outcome run={run} state={state} />
    </div>
  )
}

function Moving({ state }: { state: RunState }) {
  if (state.kind === 'sending' && state.sent !== undefined && state.total !== undefined)
    return <span class="faint number">{texts.sent(state.sent, state.total)}</span>
  if (state.kind === 'receiving') return <span class="faint number">{texts.received(state.bytes, state.total)}</span>
  if (state.kind === 'running' && state.progress?.message)
    return (
      <span class="quiet">
        <SeenText text={state.progress.message} />
      </span>
    )
  return null
}

function Progress({ state }: { state: RunState }) {
  const fraction = fractionOf(state)
  const isLost = state.kind === 'running' && state.isLost
  if (isEnded(state) || state.kind === 'streaming') return null
  return (
    <>
      <progress
        class="progress"
        aria-label={texts.states[state.kind]}
        max={1}
        {...(fraction !== undefined && { value: fraction })}
      />
      {isLost && <Notice tone="warn">{texts.lost}</Notice>}
    </>
  )
}

function fractionOf(state: RunState): number | undefined {
  if (state.kind === 'sending' && state.sent !== undefined && state.total) return state.sent / state.total
  if (state.kind === 'receiving' && state.total) return state.bytes / state.total
  return state.kind === 'running' ? state.progress?.fraction : undefined
}

function Outcome({ run, state }: { run: Run; state: RunState }) {
  const { entry } = run.parts.call
  const name = entry.op.replaceAll(/[^\w.-]+/g, '-')
  switch (state.kind) {
    case 'value':
      return <ValueView json={state.json} name={name} mediaType={mediaTypeOf(entry.resultSchema)} />
    case 'file':
      return <FileView file={state.file} name={name} />
    case 'failed':
      return run.frames.total > 0 ? (
        <>
          <FailureView failure={state.failure} />
          <StreamView frames={run.frames} isLive={false} name={name} />
        </>
      ) : (
        <FailureView failure={state.failure} />
      )
    case 'canceled':
      return <p class="quiet body">{texts.canceled}</p>
    case 'streaming':
    case 'stream-ended':
      return <StreamView frames={run.frames} isLive={state.kind === 'streaming'} name={name} />
    default:
      return null
  }
}

function mediaTypeOf(schema: object | undefined): string | undefined {
  const { contentMediaType } = (schema ?? {}) as { contentMediaType?: unknown }
  return typeof contentMediaType === 'string' ? contentMediaType : undefined
}

export function FailureView({ failure }: { failure: Failure }) {
  const { code, message, retryable, details } = failure
  const isLost = code === 'UNREACHABLE'
  return (
    <div class="failure" role="alert">
      <Notice tone="bad">
        <p>
          <SeenText text={isLost ? texts.unreachable : message || texts.failed} />
        </p>
        <p class="failure-more">
          {code !== undefined && (
            <a class="mono" href={href('error', { code })} title={texts.explain(code)}>
              {code}
            </a>
          )}
          {retryable !== undefined && <span class="quiet">{retryable ? texts.retryable : texts.notRetryable}</span>}
        </p>
      </Notice>
      {details !== undefined && details !== '{}' && <RowView text={details} language="json" label={texts.details} />}
    </div>
  )
}
