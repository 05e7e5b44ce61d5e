/** The streams that run now, and the one that is chosen. */
import { useEffect } from 'preact/hooks'
import type { CallFilter, CallSummary } from '../api/types.ts'
import { Button, IconButton, LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { SplitScreen } from '../design/screen.tsx'
import { Status } from '../design/status.tsx'
import { Time } from '../design/time.tsx'
import { streamedBy } from '../explore/own-runs.ts'
import { href } from '../routes.ts'
import { personOf } from '../runs/people.ts'
import { type RunList, useRunList } from '../runs/run-list.ts'
import { useKeys } from '../shell/keys.ts'
import { usePage, useWho } from '../shell/page.ts'
import { texts } from '../texts/en/streams.ts'
import { StreamDetail } from './detail.tsx'
import './streams.css'

const STREAMING: CallFilter = { state: ['streaming'] }

export function StreamsScreen() {
  const { router } = usePage()
  const place = router.place.value
  const id = place?.name === 'stream' ? place.params.id : undefined
  const list = useRunList(STREAMING)
  const { runs, fresh, refresh } = list
  const isEmpty = runs?.length === 0
  // Where there are no rows, none can move.
  useEffect(() => {
    if (isEmpty && fresh > 0) refresh()
  }, [isEmpty, fresh])
  const at = runs?.findIndex((run) => run.id === id) ?? -1
  const move = (by: number) => {
    const next = runs?.[at < 0 ? 0 : at + by]
    if (next) router.go(href('stream', { id: next.id }))
  }
  useKeys([
    { key: 'j', label: texts.keys.next, run: () => move(1) },
    { key: 'k', label: texts.keys.previous, run: () => move(-1) },
    { key: 'escape', label: texts.keys.back, run: () => router.go(href('streams')) },
  ])
  return (
    <SplitScreen
      label={texts.title}
      chosen={id}
      list={<StreamList list={list} current={id} />}
      detail={<Detail id={id} isEmpty={isEmpty} />}
    />
  )
}

function Detail({ id, isEmpty }: { id: string | undefined; isEmpty: boolean }) {
  if (id !== undefined) return <StreamDetail key={id} id={id} />
  if (isEmpty) return null
  return (
    <Empty icon="streams" title={texts.choose.title}>
      <p>{texts.choose.text}</p>
    </Empty>
  )
}

function StreamList({ list, current }: { list: RunList; current: string | undefined }) {
  const { changes } = usePage()
  const { runs, error, fresh, refresh } = list
  return (
    <>
      <header>
        <div class="line">
          <h1>{texts.title}</h1>
          <span class="streams-tools">
            {fresh > 0 && (
              <Button size="small" tone="primary" icon="up" aria-label={texts.freshLabel(fresh)} onClick={refresh}>
                {texts.fresh(fresh)}
              </Button>
            )}
            <IconButton icon="replay" size="small" label={texts.refresh} onClick={refresh} />
          </span>
        </div>
        {!changes.isLive.value && <span class="chip warn">{texts.notLive}</span>}
      </header>
      {error && <Failure error={error} retry={refresh} />}
      {!runs && !error && <Skeleton lines={6} />}
      {runs?.length === 0 && <NoStreams />}
      <ul>
        {runs?.map((run) => (
          <li key={run.id}>
            <Row run={run} isCurrent={run.id === current} />
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <Button tone="plain" disabled={list.isLoading} onClick={list.more}>
          {texts.more}
        </Button>
      )}
    </>
  )
}

function NoStreams() {
  const { features } = useWho()
  const words = features.includes('streams') ? texts.empty : texts.unoffered
  return (
    <Empty icon="streams" title={words.title}>
      <p>{words.text}</p>
      <div class="actions">
        <LinkButton tone="primary" href={href('explore')}>
          {words.action}
        </LinkButton>
      </div>
    </Empty>
  )
}

function Row({ run, isCurrent }: { run: CallSummary; isCurrent: boolean }) {
  const { ownRuns } = usePage()
  const isHere = streamedBy(ownRuns.all.value, run.id) !== undefined
  return (
    <a href={href('stream', { id: run.id })} aria-current={isCurrent ? 'page' : undefined}>
      <span class="line">
        <span class="mono clip">{run.operation}</span>
        {isHere && <span class="chip">{texts.here}</span>}
      </span>
      <span class="line faint">
        <span class="clip">{personOf(run.owner, run.userId)}</span>
        <Time at={run.createdAt} ago />
      </span>
      <Status call={run} />
    </a>
  )
}
