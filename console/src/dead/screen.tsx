/** Calls that failed for a reason that is not their caller's: grouped by operation and code, to replay or dismiss. */
import { useQuery } from '@tanstack/preact-query'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { readCallFilter } from '../../../src/core/filter/call-filter.ts'
import { termText } from '../../../src/core/filter/terms.ts'
import type { CallFilter, DeadLetterPage } from '../api/types.ts'
import { LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { ScreenHead } from '../design/screen.tsx'
import { countOf, Time } from '../design/time.tsx'
import { ExportButton } from '../exports/export-button.tsx'
import { FilterBar } from '../filter/filter-bar.tsx'
import { hasTerms, toggleTerms } from '../filter/terms.ts'
import { href } from '../routes.ts'
import { rowAfter, useRowKeys } from '../runs/row-keys.ts'
import { useRunList } from '../runs/run-list.ts'
import { RunTable } from '../runs/run-table.tsx'
import { SelectionBar } from '../runs/selection-bar.tsx'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/dead.ts'
import '../runs/runs.css'
import './dead.css'

export function DeadScreen() {
  const { router } = usePage()
  const place = router.place.value
  const text = place?.name === 'dead' ? (place.query.f ?? '') : ''
  const { filter, unknown } = useMemo(() => readCallFilter(text, Date.now()), [text])
  const list = useRunList(filter, true)
  const groups = useGroups(filter)
  const [selected, setSelected] = useState<ReadonlySet<string> | 'all'>(new Set())
  const [current, setCurrent] = useState(-1)
  useEffect(() => {
    setSelected(new Set())
    setCurrent(-1)
  }, [filter])
  const runs = list.runs ?? []
  const total = groups.data?.reduce((sum, { count }) => sum + count, 0)
  const setFilter = (f: string) => router.go(href('dead', {}, { f }))
  const toggle = (id: string) =>
    setSelected((before) => {
      const next = new Set(before === 'all' ? runs.map((run) => run.id) : before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  useRowKeys({
    chosen: runs[current],
    move: (by) => setCurrent(rowAfter(current, by, runs.length)),
    toggle,
  })
  const refresh = () => {
    list.refresh()
    void groups.refetch()
  }
  const words = text === '' ? texts.empty : texts.none
  return (
    <div class="runs">
      <div class="runs-head">
        <ScreenHead title={texts.title} lead={texts.lead}>
          <ExportButton what="deadletters" filter={filter} text={text} />
        </ScreenHead>
        <FilterBar text={text} onChange={setFilter} presets={[]} unknown={unknown} placeholder={texts.placeholder} />
        {groups.data && groups.data.length > 0 && <Groups groups={groups.data} text={text} onChange={setFilter} />}
        <SelectionBar
          isDead
          selected={selected}
          runs={runs}
          filter={filter}
          total={total}
          onSelect={setSelected}
          onChanged={refresh}
        />
        {list.error && <Failure error={list.error} retry={refresh} />}
      </div>
      {!list.runs && !list.error && (
        <div class="runs-note">
          <Skeleton lines={8} />
        </div>
      )}
      {list.runs?.length === 0 && (
        <Empty icon="dead" title={words.title}>
          <p>{words.text}</p>
          <div class="actions">
            <LinkButton tone="primary" href={text === '' ? href('runs') : href('dead')}>
              {words.action}
            </LinkButton>
          </div>
        </Empty>
      )}
      {runs.length > 0 && (
        <div class="runs-body">
          <RunTable
            list={list}
            total={total}
            current={current}
            selected={selected}
            onCurrent={setCurrent}
            onToggle={toggle}
          />
        </div>
      )}
    </div>
  )
}

/** The groups of all calls that match, not only of the pages that are loaded. */
function useGroups(filter: CallFilter) {
  const { server } = usePage()
  return useQuery({
    queryKey: ['dead-groups', filter],
    queryFn: async ({ signal }) =>
      (await server.call('v1:callplane.deadletters.list', { ...filter, limit: 1 }, signal)).groups,
  })
}

interface GroupsProps {
  groups: DeadLetterPage['groups']
  text: string
  onChange(text: string): void
}

function Groups({ groups, text, onChange }: GroupsProps) {
  return (
    <ul class="dead-groups" aria-label={texts.groups}>
      {groups.map(({ operation, code, count, lastAt }) => {
        const terms = `${termText('op', operation)} ${termText('code', code)}`
        return (
          <li key={terms}>
            <button
              type="button"
              aria-pressed={hasTerms(text, terms)}
              title={texts.filterBy(operation, code)}
              onClick={() => onChange(toggleTerms(text, terms))}
            >
              <strong class="number">{countOf(count)}</strong>
              <span class="mono clip">{operation}</span>
              <span class="mono code">{code}</span>
              <span class="faint">
                {texts.last} <Time at={lastAt} ago />
              </span>
            </button>
          </li>
        )
      })}
    </ul>
  )
}
