/** What stands below the arguments: result, exchange, code, history, documentation. Each is a link. */
import { useEffect, useRef } from 'preact/hooks'
import { Empty } from '../design/feedback.tsx'
import { Tabs } from '../design/tabs.tsx'
import type { Attachments } from '../forms/arguments-view.tsx'
import { lazily } from '../shell/lazily.tsx'
import { usePage, useWho } from '../shell/page.ts'
import { texts } from '../texts/en/explore.ts'
import type { PastCall } from './history/call-history.ts'
import { NextSteps } from './next-steps.tsx'
import { isEnded } from './run/run.ts'
import type { SnippetCall } from './snippets/snippet.ts'
import type { Runs } from './use-runs.ts'
import type { Entry, Wire, WireCall } from './wires/wire.ts'

// A browser loads each of these when its tab is opened.
const RunView = lazily(async () => (await import('./run/run-view.tsx')).RunView)
const DocsView = lazily(async () => (await import('./docs-view.tsx')).DocsView)
const ExchangeView = lazily(async () => (await import('./run/exchange-view.tsx')).ExchangeView)
const WouldSend = lazily(async () => (await import('./run/exchange-view.tsx')).WouldSend)
const HistoryView = lazily(async () => (await import('./history/history-view.tsx')).HistoryView)
const PastCallView = lazily(async () => (await import('./history/past-call-view.tsx')).PastCallView)
const SnippetsView = lazily(async () => (await import('./snippets/snippets-view.tsx')).SnippetsView)

export const TABS = ['result', 'exchange', 'snippets', 'history', 'docs'] as const
export type TabName = (typeof TABS)[number]

interface OperationTabsProps {
  tab: TabName
  /** The address of a tab. */
  to(tab: TabName): string
  entries: readonly Entry[]
  call: WireCall
  wire: Wire
  attachments: Attachments
  runs: Runs
  past: PastCall | undefined
  onShow(past: PastCall): void
  onUse(past: PastCall): void
}

export function OperationTabs(props: OperationTabsProps) {
  const { tab, to } = props
  const tabs = TABS.map((name) => ({ name, label: texts.tabs[name], href: to(name) }))
  const panel = useRef<HTMLElement>(null)
  const run = props.runs.of(props.call.entry.op)
  const atFirst = useRef(run)
  useEffect(() => {
    if (run && run !== atFirst.current) panel.current?.scrollIntoView({ block: 'nearest' })
  }, [run])
  return (
    <section class="panel op-results" ref={panel}>
      <Tabs tabs={tabs} current={tab} label={texts.tabsLabel} />
      {tab === 'result' && <ResultTab {...props} />}
      {tab === 'exchange' && <ExchangeTab {...props} />}
      {tab === 'snippets' && <SnippetsTab {...props} />}
      {tab === 'history' && <HistoryTab {...props} />}
      {tab === 'docs' && <DocsView entry={props.call.entry} />}
    </section>
  )
}

function ResultTab({ call, runs, past, onUse, entries }: OperationTabsProps) {
  const { op } = call.entry
  const run = runs.of(op)
  if (past) return <PastCallView call={past} onUse={() => onUse(past)} />
  if (!run)
    return (
      <Empty icon="play" title={texts.noRun.title}>
        <p>{texts.noRun.text}</p>
      </Empty>
    )
  return (
    <>
      <RunView run={run} />
      {isEnded(run.state.value) && <NextSteps op={op} entries={entries} />}
    </>
  )
}

function ExchangeTab({ call, wire, runs, attachments }: OperationTabsProps) {
  const who = useWho()
  const run = runs.of(call.entry.op)
  const would = wire.refusal(call) === undefined && (
    <WouldSend
      request={wire.encode(call)}
      withToken={who.session !== undefined}
      hasFiles={Object.keys(attachments).length > 0}
    />
  )
  // A person who has just chosen another wire wants to see what it sends.
  const isOther = run?.parts.wire.id !== wire.id
  return (
    <>
      {isOther && would}
      {run && <ExchangeView exchanges={run.exchanges.value} />}
      {!isOther && would}
    </>
  )
}

function SnippetsTab({ call, attachments }: OperationTabsProps) {
  const { server } = usePage()
  const who = useWho()
  const files = Object.entries(attachments).flatMap(([name, given]) =>
    given instanceof File ? [{ name, mimeType: given.type || 'application/octet-stream', path: given.name }] : [],
  )
  const snippet: SnippetCall = {
    entry: call.entry,
    argsText: call.argsText,
    url: server.base,
    withToken: who.session !== undefined,
    idempotencyKey: call.idempotencyKey,
    files,
    ...(call.tool && { tool: call.tool }),
  }
  return <SnippetsView call={snippet} />
}

function HistoryTab({ runs, call, onShow }: OperationTabsProps) {
  const { history } = runs
  if (!history) return <Empty icon="clock" title={texts.history.unavailable} />
  return <HistoryView history={history} op={call.entry.op} onShow={onShow} />
}
