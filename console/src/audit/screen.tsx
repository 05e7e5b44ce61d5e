/** The audit trail, newest first, with a filter. */
import { useInfiniteQuery } from '@tanstack/preact-query'
import { useMemo } from 'preact/hooks'
import type { AuditEntry } from '../api/types.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { ScreenHead } from '../design/screen.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { durationOf, Time } from '../design/time.tsx'
import { ExportButton } from '../exports/export-button.tsx'
import { readAuditFilter } from '../filter/audit-filter.ts'
import { FilterBar } from '../filter/filter-bar.tsx'
import { href } from '../routes.ts'
import { nameOf, personOf } from '../runs/people.ts'
import { useMay, usePage } from '../shell/page.ts'
import { texts } from '../texts/en/audit.ts'
import './audit.css'

const PAGE = 100

export function AuditScreen() {
  const { server, router } = usePage()
  const may = useMay()
  const place = router.place.value
  const text = place?.name === 'audit' ? (place.query.f ?? '') : ''
  const { filter, unknown } = useMemo(() => readAuditFilter(text, Date.now()), [text])
  const pages = useInfiniteQuery({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam, signal }) =>
      server.call(
        'v1:callplane.audit.list',
        { ...filter, limit: PAGE, ...(pageParam && { before: pageParam }) },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (last) => last.next,
  })
  const entries = pages.data?.pages.flatMap((page) => page.entries)
  const isCut = pages.data?.pages.at(-1)?.complete === false
  const words = text === '' ? texts.empty : texts.none
  const presets = [
    { label: texts.presets.denied, text: 'verdict:deny' },
    { label: texts.presets.held, text: 'verdict:hold' },
    { label: texts.presets.reveals, text: 'op:v1:callplane.calls.payload@1.0.0' },
    { label: texts.presets.decisions, text: 'op:v1:callplane.approvals.decide@1.0.0' },
  ]
  return (
    <div class="screen audit">
      <ScreenHead title={texts.title} lead={texts.lead}>
        {/* An export needs the scope of reading, too. */}
        {may('callplane:read') && <ExportButton what="audit" filter={filter} text={text} />}
      </ScreenHead>
      <FilterBar
        text={text}
        onChange={(f) => router.go(href('audit', {}, { f }))}
        presets={presets}
        unknown={unknown}
        placeholder={texts.placeholder}
      />
      {pages.error && <Failure error={pages.error} retry={() => void pages.refetch()} />}
      {!entries && !pages.error && <Skeleton lines={10} />}
      {entries?.length === 0 && !pages.hasNextPage && (
        <Empty icon="audit" title={words.title}>
          <p>{words.text}</p>
          <div class="actions">
            <LinkButton tone="primary" href={text === '' ? href('explore') : href('audit')}>
              {words.action}
            </LinkButton>
          </div>
        </Empty>
      )}
      {entries && entries.length > 0 && <Entries entries={entries} />}
      {pages.hasNextPage && (
        <div class="more">
          <Button disabled={pages.isFetching} onClick={() => void pages.fetchNextPage()}>
            {texts.more}
          </Button>
          {isCut && <span class="faint">{texts.searched}</span>}
        </div>
      )}
    </div>
  )
}

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <table class="table cards" aria-label={texts.title}>
      <thead>
        <tr>
          {Object.values(texts.columns).map((name) => (
            <th key={name}>{name}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td class="quiet nowrap">
              <Time at={entry.startedAt} />
            </td>
            <td title={entry.owner}>
              <a class="plain" href={href('audit', {}, { f: `owner:${entry.owner}` })}>
                {personOf(entry.owner)}
              </a>
            </td>
            <td class="mono wide">
              {nameOf(entry.operation)}
              <span class="faint">{entry.operation.slice(nameOf(entry.operation).length)}</span>
              <About about={entry.about} />
            </td>
            <td>
              <span class={entry.verdict === 'allow' ? undefined : 'chip warn'}>
                {texts.verdicts[entry.verdict] ?? entry.verdict}
              </span>
              {entry.rule && <span class="mono faint"> {entry.rule}</span>}
            </td>
            <td>
              {entry.code ? (
                <a class="mono bad" href={href('error', { code: entry.code })}>
                  {entry.code}
                </a>
              ) : (
                (texts.outcomes[entry.outcome] ?? entry.outcome)
              )}
            </td>
            <td class="number quiet">{durationOf(Date.parse(entry.endedAt) - Date.parse(entry.startedAt))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The call that a person looked at, and why a person did it. */
function About({ about }: { about: AuditEntry['about'] }) {
  if (!about?.call && !about?.why) return null
  return (
    <p class="about quiet">
      {about.call && <a href={href('run', { id: about.call })}>{about.part ?? about.call}</a>}
      {about.why && <SeenText text={about.why} />}
    </p>
  )
}
