/** All recorded calls: filter, live list, preview, and changes of many at once. */
import { useQuery } from '@tanstack/preact-query'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { readCallFilter } from '../../../src/core/filter/call-filter.ts'
import { Button, IconButton, LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { ScreenHead } from '../design/screen.tsx'
import { countOf } from '../design/time.tsx'
import { ExportButton } from '../exports/export-button.tsx'
import { FilterBar } from '../filter/filter-bar.tsx'
import { withFixedTimes, withTerm } from '../filter/terms.ts'
import { href } from '../routes.ts'
import { usePage, useWho } from '../shell/page.ts'
import { texts } from '../texts/en/runs.ts'
import { Peek } from './peek.tsx'
import { rowAfter, useRowKeys } from './row-keys.ts'
import { type RunList, useRunList } from './run-list.ts'
import { RunTable } from './run-table.tsx'
import { SelectionBar } from './selection-bar.tsx'
import { ViewChips } from './view-chips.tsx'
import './runs.css'

export function RunsScreen() {
  const { router, changes, toasts } = usePage()
  const who = useWho()
  const place = router.place.value
  const query = place?.name === 'runs' ? place.query : {}
  const text = query.f ?? ''
  // Ages in a filter mean the moment when it was set: the list must not slide while one reads it.
  const { filter, unknown } = useMemo(() => {
    const read = readCallFilter(text, Date.now())
    return query.at ? { ...read, filter: { ...read.filter, until: query.at } } : read
  }, [text, query.at])
  const list = useRunList(filter)
  const total = useTotal(filter)
  const [selected, setSelected] = useState<ReadonlySet<string> | 'all'>(new Set())
  useEffect(() => setSelected(new Set()), [filter])
  const [current, setCurrent] = useCurrent(list, query.peek)
  const runs = list.runs ?? []
  const chosen = runs[current]

  const setFilter = (f: string) => router.go(href('runs', {}, { f }))
  const setPeek = (peek: string | undefined) => router.setQuery('runs', { peek })
  const move = (by: number) => {
    const next = rowAfter(current, by, runs.length)
    setCurrent(next)
    if (query.peek) setPeek(runs[next]?.id)
  }
  const toggle = (id: string) =>
    setSelected((before) => {
      const next = new Set(before === 'all' ? runs.map((run) => run.id) : before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  useRowKeys({ chosen, move, toggle }, [
    { key: 'p', label: texts.keys.peek, run: () => setPeek(query.peek ? undefined : chosen?.id) },
    { key: 'escape', label: texts.closePeek, run: () => setPeek(undefined) },
  ])

  const presets = [
    { label: texts.presets.flight, text: 'state:accepted,pending,streaming' },
    { label: texts.presets.held, text: 'is:held' },
    { label: texts.presets.failed, text: 'state:error' },
    { label: texts.presets.slow, text: 'slow:5s' },
    { label: texts.presets.retried, text: 'attempts:2' },
    { label: texts.presets.mine, text: `owner:${who.caller.owner}` },
  ]
  const shown = query.at ? withTerm(text, 'until', query.at) : text
  const share = async () => {
    const fragment = href('runs', {}, { ...query, f: withFixedTimes(text, Date.now()) })
    await navigator.clipboard.writeText(new URL(fragment, location.href).href)
    toasts.show({ text: texts.shared, tone: 'ok' })
  }
  return (
    <div class="runs">
      <div class="runs-head">
        <ScreenHead
          title={texts.title}
          lead={total && <span class="number">{texts.total(countOf(total.total), total.capped)}</span>}
        >
          {!changes.isLive.value && <span class="chip warn">{texts.notLive}</span>}
          {list.fresh > 0 && (
            <Button
              size="small"
              tone="primary"
              icon="up"
              aria-label={texts.freshLabel(list.fresh)}
              onClick={list.refresh}
            >
              {texts.fresh(list.fresh)}
            </Button>
          )}
          <ExportButton what="calls" filter={filter} text={shown} />
          <IconButton icon="link" label={texts.share} onClick={() => void share()} />
          <IconButton icon="replay" label={texts.refresh} onClick={list.refresh} />
        </ScreenHead>
        <FilterBar text={text} onChange={setFilter} presets={presets} unknown={unknown} placeholder={texts.placeholder}>
          <ViewChips text={text} onChange={setFilter} />
        </FilterBar>
        <SelectionBar
          selected={selected}
          runs={runs}
          filter={filter}
          total={total?.total}
          onSelect={setSelected}
          onChanged={list.refresh}
        />
      </div>
      {list.error && (
        <div class="runs-note">
          <Failure error={list.error} retry={list.refresh} />
        </div>
      )}
      {!list.runs && !list.error && (
        <div class="runs-note">
          <Skeleton lines={12} />
        </div>
      )}
      {list.runs?.length === 0 && <NoRuns list={list} isFiltered={text !== '' || query.at !== undefined} />}
      {runs.length > 0 && (
        <div class="runs-body">
          <RunTable
            list={list}
            total={total?.capped ? undefined : total?.total}
            current={current}
            selected={selected}
            onCurrent={(index) => {
              setCurrent(index)
              if (query.peek) setPeek(runs[index]?.id)
            }}
            onToggle={toggle}
          />
          {query.peek && <Peek id={query.peek} onClose={() => setPeek(undefined)} onMove={move} />}
        </div>
      )}
    </div>
  )
}

/** The row that the keys act on. It follows the preview of the address. */
function useCurrent(list: RunList, peek: string | undefined): [number, (index: number) => void] {
  const [current, setCurrent] = useState(-1)
  const seen = useRef<string>()
  useEffect(() => {
    const at = list.runs?.findIndex((run) => run.id === peek) ?? -1
    if (at < 0 || seen.current === peek) return
    seen.current = peek
    setCurrent(at)
  }, [list.runs, peek])
  return [current, setCurrent]
}

function useTotal(filter: object) {
  const { server } = usePage()
  const count = useQuery({
    queryKey: ['count', filter],
    queryFn: ({ signal }) => server.call('v1:callplane.calls.count', filter, signal),
  })
  return count.data
}

function NoRuns({ list, isFiltered }: { list: RunList; isFiltered: boolean }) {
  if (list.isCut && list.hasMore) {
    return (
      <Empty icon="search" title={texts.none.title}>
        <p>{texts.incomplete}</p>
        <div class="actions">
          <Button tone="primary" disabled={list.isLoading} onClick={list.more}>
            {texts.goOn}
          </Button>
        </div>
      </Empty>
    )
  }
  const words = isFiltered ? texts.none : texts.empty
  return (
    <Empty icon="runs" title={words.title}>
      <p>{words.text}</p>
      <div class="actions">
        <LinkButton tone="primary" href={isFiltered ? href('runs') : href('explore')}>
          {words.action}
        </LinkButton>
      </div>
    </Empty>
  )
}
