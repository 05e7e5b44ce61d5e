/** Calls that wait for a decision, and the one that is chosen. */
import { useInfiniteQuery } from '@tanstack/preact-query'
import type { ApprovalView } from '../api/types.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { SplitScreen } from '../design/screen.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { Tabs } from '../design/tabs.tsx'
import { Time } from '../design/time.tsx'
import { textOf } from '../diff/diff-table.tsx'
import { leavesOf } from '../diff/structure.ts'
import { href } from '../routes.ts'
import { nameOf, personOf } from '../runs/people.ts'
import { useKeys } from '../shell/keys.ts'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/approvals.ts'
import { ApprovalDetail } from './detail.tsx'
import './approvals.css'

const PAGE = 100
/** Characters of a value in the list. */
const GIST = 60
const TABS = [
  { name: 'waiting', label: texts.tabs.waiting, href: href('approvals') },
  { name: 'all', label: texts.tabs.all, href: href('approvals', {}, { show: 'all' }) },
]

export function ApprovalsScreen() {
  const { server, router } = usePage()
  const place = router.place.value
  const id = place?.name === 'approval' ? place.params.id : undefined
  const all = place?.name === 'approvals' && place.query.show === 'all'
  const pages = useInfiniteQuery({
    queryKey: ['approvals', all],
    queryFn: ({ pageParam, signal }) =>
      server.call(
        'v1:callplane.approvals.list',
        { limit: PAGE, ...(all && { all }), ...(pageParam && { after: pageParam }) },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (last) => last.next,
    refetchInterval: 15_000,
  })
  const approvals = pages.data?.pages.flatMap((page) => page.approvals)
  const at = approvals?.findIndex((one) => one.id === id) ?? -1
  const move = (by: number) => {
    const next = approvals?.[at < 0 ? 0 : at + by]
    if (next) router.go(href('approval', { id: next.id }))
  }
  useKeys([
    { key: 'j', label: texts.keys.next, run: () => move(1) },
    { key: 'k', label: texts.keys.previous, run: () => move(-1) },
  ])
  return (
    <SplitScreen
      label={texts.title}
      chosen={id}
      list={
        <>
          <header>
            <h1>{texts.title}</h1>
            <Tabs tabs={TABS} current={all ? 'all' : 'waiting'} label={texts.shown} />
          </header>
          {pages.error && <Failure error={pages.error} retry={() => void pages.refetch()} />}
          {!approvals && !pages.error && <Skeleton lines={6} />}
          {approvals?.length === 0 && <NoneHere all={all} />}
          <ul>
            {approvals?.map((approval) => (
              <li key={approval.id}>
                <Row approval={approval} isCurrent={approval.id === id} />
              </li>
            ))}
          </ul>
          {pages.hasNextPage && (
            <Button tone="plain" onClick={() => void pages.fetchNextPage()}>
              {texts.more}
            </Button>
          )}
        </>
      }
      detail={
        id === undefined ? (
          approvals && approvals.length > 0 ? (
            <Empty icon="approvals" title={texts.choose.title}>
              <p>{texts.choose.text}</p>
            </Empty>
          ) : null
        ) : (
          <ApprovalDetail key={id} id={id} next={approvals?.[at + 1]?.id} />
        )
      }
    />
  )
}

function NoneHere({ all }: { all: boolean }) {
  if (all) {
    return (
      <Empty icon="approvals" title={texts.emptyAll}>
        <p>{texts.empty.text}</p>
      </Empty>
    )
  }
  return (
    <Empty icon="approvals" title={texts.empty.title}>
      <p>{texts.empty.text}</p>
      <div class="actions">
        <LinkButton href={href('approvals', {}, { show: 'all' })}>{texts.empty.all}</LinkButton>
      </div>
    </Empty>
  )
}

function Row({ approval, isCurrent }: { approval: ApprovalView; isCurrent: boolean }) {
  return (
    <a href={href('approval', { id: approval.id })} aria-current={isCurrent ? 'page' : undefined}>
      <span class="line">
        <span class="mono clip">{nameOf(approval.operation)}</span>
        <span class={approval.risk === 'high' || approval.risk === 'critical' ? 'chip bad' : 'chip'}>
          {approval.risk}
        </span>
      </span>
      <span class="clip quiet">
        <SeenText text={gistOf(approval.args)} />
      </span>
      <span class="line faint">
        <span class="clip">{personOf(approval.caller, approval.userId)}</span>
        {approval.status === 'pending' ? <Time at={approval.createdAt} ago /> : texts.statuses[approval.status]}
      </span>
    </a>
  )
}

/** The first values of the arguments: enough to tell two calls of one operation apart. */
function gistOf(args: unknown): string {
  return leavesOf(args)
    .slice(0, 3)
    .map(({ after }) => shorten(textOf(after)))
    .join(' · ')
}

/** Ends with a whole word, if there is one. */
function shorten(text: string): string {
  return text.length > GIST ? `${text.slice(0, GIST).replace(/\s\S*$/, '')}…` : text
}
