/** One stream: its frames, if this tab reads them, and what the server knows of it. */
import { useState } from 'preact/hooks'
import { isFault } from '../../../src/client/fault.ts'
import type { CallDetails } from '../api/types.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { CopiedText, type Fact, FactList } from '../design/fact-list.tsx'
import { Empty, Failure, Notice, Skeleton } from '../design/feedback.tsx'
import { Icon } from '../design/icon.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { Status } from '../design/status.tsx'
import { countOf, Time } from '../design/time.tsx'
import { streamedBy } from '../explore/own-runs.ts'
import type { Run } from '../explore/run/run.ts'
import { StreamView } from '../explore/stream/stream-view.tsx'
import { href } from '../routes.ts'
import { CancelDialog } from '../run/cancel-dialog.tsx'
import { hasEnded, useRun } from '../run/use-run.ts'
import { personOf } from '../runs/people.ts'
import { useMay, usePage, useWho } from '../shell/page.ts'
import { texts } from '../texts/en/streams.ts'
import '../explore/explore.css'

export function StreamDetail({ id }: { id: string }) {
  const { ownRuns } = usePage()
  const read = useRun(id)
  const own = streamedBy(ownRuns.all.value, id)
  const details = read.data
  const isGone = isFault(read.error, 'NOT_FOUND', 'UNKNOWN_CALL')
  return (
    <article class="stream-detail">
      <a class="button plain small back" href={href('streams')}>
        <Icon name="left" /> {texts.back}
      </a>
      {read.error && !isGone && <Failure error={read.error} retry={() => void read.refetch()} />}
      {!details && !read.error && <Skeleton lines={8} />}
      {isGone && !details && <Nothing words={texts.gone} to={href('streams')} />}
      {details && !details.stream && <Nothing words={texts.noStream} to={href('run', { id })} />}
      {details?.stream && (
        <>
          <Head details={details} own={own} />
          {own ? <Frames run={own} /> : <NoFrames details={details} />}
          <Facts details={details} isHere={own !== undefined} />
        </>
      )}
    </article>
  )
}

interface Words {
  title: string
  text: string
  action: string
}

function Nothing({ words, to }: { words: Words; to: string }) {
  return (
    <Empty icon="streams" isWholeScreen title={words.title}>
      <p>{words.text}</p>
      <div class="actions">
        <LinkButton href={to}>{words.action}</LinkButton>
      </div>
    </Empty>
  )
}

function Head({ details, own }: { details: CallDetails; own: Run | undefined }) {
  const may = useMay()
  const [isCanceling, setCanceling] = useState(false)
  const { call } = details
  const isOpen = !hasEnded(details)
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
        <LinkButton icon="runs" href={href('run', { id: call.id })}>
          {texts.actions.run}
        </LinkButton>
        {isOpen && own && (
          <Button tone="danger" icon="stop" onClick={() => void own.cancel()}>
            {texts.actions.stop}
          </Button>
        )}
        {isOpen && !own && may('callplane:operate') && (
          <Button tone="danger" icon="stop" onClick={() => setCanceling(true)}>
            {texts.actions.cancel}
          </Button>
        )}
      </div>
      {isCanceling && <CancelDialog id={call.id} operation={call.operation} onClose={() => setCanceling(false)} />}
    </header>
  )
}

function Frames({ run }: { run: Run }) {
  const name = run.parts.call.entry.op.replaceAll(/[^\w.-]+/g, '-')
  return (
    <section class="panel" aria-label={texts.frames}>
      <StreamView frames={run.frames} isLive={run.state.value.kind === 'streaming'} name={name} />
    </section>
  )
}

function NoFrames({ details }: { details: CallDetails }) {
  const { caller } = useWho()
  const { call } = details
  const isMine = call.owner === caller.owner
  const reason = hasEnded(details)
    ? texts.why.ended
    : isMine
      ? texts.why.mine
      : texts.why.other(personOf(call.owner, call.userId))
  return (
    <Notice>
      <strong>{texts.why.title}.</strong> {reason}
    </Notice>
  )
}

function Facts({ details, isHere }: { details: CallDetails; isHere: boolean }) {
  const { call, stream, error } = details
  if (!stream) return null
  const isOpen = !hasEnded(details)
  const reader = stream.awaited ? texts.reader.awaited : isHere ? texts.reader.here : texts.reader.other
  const facts: Fact[] = [
    [texts.facts.caller, <span title={call.owner}>{personOf(call.owner, call.userId)}</span>],
    [texts.facts.since, <Time at={call.createdAt} precise />],
    [texts.facts.ends, isOpen && <Time at={stream.endsAt} precise />],
    [texts.facts.ended, call.endedAt && <Time at={call.endedAt} precise />],
    [texts.facts.reader, isOpen && reader],
    [texts.facts.transport, stream.transport],
    [texts.facts.encoding, stream.encoding],
    [texts.facts.frames, stream.frames !== undefined && countOf(stream.frames)],
    [texts.facts.dropped, stream.dropped !== undefined && countOf(stream.dropped)],
    [texts.facts.how, stream.ended && (texts.ends[stream.ended] ?? stream.ended)],
    [
      texts.facts.error,
      error && (
        <>
          <a class="mono" href={href('error', { code: error.code })}>
            {error.code}
          </a>{' '}
          <SeenText text={error.message} />
        </>
      ),
    ],
    [texts.facts.id, <CopiedText text={call.id} />],
  ]
  return (
    <section class="stream-facts">
      <FactList facts={facts} />
      {isOpen && !isHere && <p class="faint">{texts.counts}</p>}
    </section>
  )
}
