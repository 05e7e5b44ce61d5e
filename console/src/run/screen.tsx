/** One run: its timeline, its payloads, what it is related to, and what can be done with it. */
import { useEffect, useState } from 'preact/hooks'
import { isFault } from '../../../src/client/fault.ts'
import type { CallDetails, CallSummary } from '../api/types.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { Icon } from '../design/icon.tsx'
import { Status } from '../design/status.tsx'
import { Tabs } from '../design/tabs.tsx'
import { Time } from '../design/time.tsx'
import { href } from '../routes.ts'
import { useKeys } from '../shell/keys.ts'
import { useMay, usePage } from '../shell/page.ts'
import { texts } from '../texts/en/run.ts'
import { CancelDialog } from './cancel-dialog.tsx'
import { Facts } from './facts.tsx'
import { Payload } from './payload.tsx'
import { ReplayDialog } from './replay-dialog.tsx'
import { Timeline } from './timeline.tsx'
import { hasEnded, useRun } from './use-run.ts'
import './run.css'

type TabName = keyof typeof texts.tabs

export function RunScreen() {
  const { router } = usePage()
  const place = router.place.value
  useKeys([{ key: 'escape', label: texts.keys.back, run: () => history.back() }])
  if (place?.name !== 'run') return null
  const { tab = '' } = place.query
  const shown = Object.hasOwn(texts.tabs, tab) ? (tab as TabName) : 'timeline'
  return <Run key={place.params.id} id={place.params.id} tab={shown} event={place.query.event} />
}

function Run({ id, tab, event }: { id: string; tab: TabName; event: string | undefined }) {
  const { router } = usePage()
  const run = useRun(id)
  const tabs = Object.entries(texts.tabs).map(([name, label]) => ({
    name,
    label,
    href: href('run', { id }, { tab: name }),
  }))
  const details = run.data
  const known = details?.call.id
  // A page that made a call knows its request id. The address has the server's id, which changes are told by.
  useEffect(() => {
    if (known === undefined || known === id) return
    router.replace(href('run', { id: known }, { tab: tab === 'timeline' ? undefined : tab, event }))
  }, [known, id])
  return (
    <div class="screen run">
      <a class="button plain small run-back" href={href('runs')}>
        <Icon name="left" /> {texts.back}
      </a>
      {run.error && isFault(run.error, 'NOT_FOUND', 'UNKNOWN_CALL') && !details && (
        <Empty icon="runs" isWholeScreen title={texts.gone.title}>
          <p>{texts.gone.text}</p>
        </Empty>
      )}
      {run.error && !isFault(run.error, 'NOT_FOUND', 'UNKNOWN_CALL') && (
        <Failure error={run.error} retry={() => void run.refetch()} />
      )}
      {!details && !run.error && <Skeleton lines={10} />}
      {details && (
        <>
          <Head details={details} />
          <div class="run-columns">
            <div class="run-main">
              <Tabs tabs={tabs} current={tab} label={texts.tabsLabel} />
              {tab === 'args' && <Payload key="args" id={id} part="args" />}
              {tab === 'result' && <Result details={details} />}
              {tab === 'related' && <Related details={details} />}
              {tab === 'timeline' && <Timeline details={details} event={event} />}
            </div>
            <aside class="run-side">
              <Facts details={details} />
            </aside>
          </div>
        </>
      )}
    </div>
  )
}

function Head({ details }: { details: CallDetails }) {
  const may = useMay()
  const [dialog, setDialog] = useState<'cancel' | 'replay'>()
  const { call, replayOf } = details
  const close = () => setDialog(undefined)
  return (
    <header class="screen-head">
      <div class="title">
        <h1>
          <a class="mono" href={href('operation', { op: call.operation })}>
            {call.operation}
          </a>
        </h1>
        <Status call={call} />
      </div>
      <div class="actions">
        {replayOf && (
          <LinkButton icon="compare" href={href('compare', { a: replayOf, b: call.id })}>
            {texts.actions.compare}
          </LinkButton>
        )}
        {call.state === 'streaming' && (
          <LinkButton icon="streams" href={href('stream', { id: call.id })}>
            {texts.frames}
          </LinkButton>
        )}
        {!hasEnded(details) && may('callplane:operate') && (
          <Button tone="danger" icon="stop" onClick={() => setDialog('cancel')}>
            {texts.actions.cancel}
          </Button>
        )}
        {may('callplane:replay') && (
          <Button icon="replay" onClick={() => setDialog('replay')}>
            {texts.actions.replay}
          </Button>
        )}
      </div>
      {dialog === 'cancel' && <CancelDialog id={call.id} operation={call.operation} onClose={close} />}
      {dialog === 'replay' && <ReplayDialog id={call.id} operation={call.operation} onClose={close} />}
    </header>
  )
}

function Result({ details }: { details: CallDetails }) {
  const { call } = details
  if (call.state === 'error') return <Payload key="error" id={call.id} part="error" />
  if (call.state === 'complete') return <Payload key="result" id={call.id} part="result" />
  return <p class="quiet">{texts.payload.notYet}</p>
}

function Related({ details }: { details: CallDetails }) {
  const { children, replays } = details
  if (children.length === 0 && replays.length === 0) return <p class="quiet">{texts.related.none}</p>
  return (
    <>
      {children.length > 0 && (
        <section class="panel">
          <header>
            <h2>{texts.related.children}</h2>
          </header>
          <ul class="related">
            {children.map((child) => (
              <ChildRow key={child.id} child={child} />
            ))}
          </ul>
        </section>
      )}
      {replays.length > 0 && (
        <section class="panel">
          <header>
            <h2>{texts.related.replays}</h2>
          </header>
          <ul class="related">
            {replays.map((replay) => (
              <li key={replay}>
                <a class="mono" href={href('run', { id: replay })}>
                  {replay}
                </a>
                <a href={href('compare', { a: details.call.id, b: replay })}>{texts.compare.title}</a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function ChildRow({ child }: { child: CallSummary }) {
  return (
    <li>
      <Status call={child} />
      <a class="mono clip" href={href('run', { id: child.id })}>
        {child.operation}
      </a>
      <Time at={child.createdAt} />
    </li>
  )
}
