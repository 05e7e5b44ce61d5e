/** The explorer: every operation of the server, and the one that is being tried. */
import { useEffect, useMemo } from 'preact/hooks'
import { useRegistry } from '../api/use-registry.ts'
import { LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { SplitScreen } from '../design/screen.tsx'
import { href } from '../routes.ts'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/explore.ts'
import { FIRST } from './next-steps.tsx'
import { OperationPage } from './operation-page.tsx'
import { Tree } from './tree/tree.tsx'
import { useRuns } from './use-runs.ts'
import type { Entry } from './wires/wire.ts'
import './explore.css'

/** Where the list and an operation are side by side. */
const WIDE = '(min-width: 1024px)'

export function ExploreScreen() {
  const { router, drafts } = usePage()
  const registry = useRegistry()
  const entries = useMemo(
    () => registry.data && newestOf(registry.data.operations as readonly Entry[]),
    [registry.data],
  )
  const runs = useRuns()
  const place = router.place.value
  const op = place?.name === 'operation' ? place.params.op : undefined
  const entry = entries?.find((known) => known.op === op)
  useEffect(() => {
    // A newcomer gets something to run at once. Where there is no room beside the list, the list comes first.
    if (place?.name !== 'explore' || place.query.q !== undefined || !entries || !matchMedia(WIDE).matches) return
    const first = firstOf(entries)
    if (first) router.replace(href('operation', { op: first.op }))
  }, [place?.name, entries])
  if (registry.error && !entries)
    return (
      <div class="screen">
        <Failure error={registry.error} retry={() => void registry.refetch()} />
      </div>
    )
  if (!entries)
    return (
      <div class="screen">
        <Skeleton lines={6} />
      </div>
    )
  if (entries.length === 0)
    return (
      <Empty icon="explore" title={texts.none.title}>
        <p>{texts.none.text}</p>
      </Empty>
    )
  return (
    <SplitScreen
      label={texts.operations}
      chosen={op}
      list={<Tree entries={entries} current={op} />}
      detail={
        entry && place?.name === 'operation' ? (
          <OperationPage
            key={entry.op}
            entry={entry}
            entries={entries}
            query={place.query}
            runs={runs}
            drafts={drafts}
          />
        ) : (
          <NoOperation op={op} />
        )
      }
    />
  )
}

function NoOperation({ op }: { op: string | undefined }) {
  if (op === undefined)
    return (
      <Empty icon="explore" title={texts.choose.title}>
        <p>{texts.choose.text}</p>
      </Empty>
    )
  return (
    <Empty icon="explore" title={texts.unknown.title}>
      <p>{texts.unknown.text(op)}</p>
      <div class="actions">
        <LinkButton href={href('explore')}>{texts.unknown.action}</LinkButton>
      </div>
    </Empty>
  )
}

/** Several versions of a name are listed one after the other, the newest last: it is the one that runs. */
function newestOf(entries: readonly Entry[]): Entry[] {
  return [...new Map(entries.map((entry) => [entry.op, entry])).values()]
}

/** Harmless, and with an answer at once. */
function firstOf(entries: readonly Entry[]): Entry | undefined {
  const isOwn = ({ op }: Entry) => op.startsWith('v1:callplane.')
  const harmless = (entry: Entry) =>
    entry.executionModel === 'sync' &&
    !entry.sideEffecting &&
    !entry.deprecated &&
    !isOwn(entry) &&
    !entry.mediaSchema?.some(({ required }) => required)
  return entries.find(({ op }) => op === FIRST) ?? entries.find(harmless) ?? entries.find((entry) => !isOwn(entry))
}
