/** One operation: its arguments, how it is sent, and what came of it. */
import { useMutation } from '@tanstack/preact-query'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { JsonObject } from '../../../src/core/json.ts'
import { Button, IconButton } from '../design/button.tsx'
import { Failure, Notice, Skeleton } from '../design/feedback.tsx'
import { type ArgumentsState, ArgumentsView, type Attachments } from '../forms/arguments-view.tsx'
import { href, type Place } from '../routes.ts'
import { modKey } from '../shell/frame.tsx'
import { useKeys } from '../shell/keys.ts'
import { lazily } from '../shell/lazily.tsx'
import { usePage, useWho } from '../shell/page.ts'
import { texts } from '../texts/en/explore.ts'
import { CheckView } from './check-view.tsx'
import type { PastCall } from './history/call-history.ts'
import { OperationHead } from './operation-head.tsx'
import { OperationTabs, TABS } from './operation-tabs.tsx'
import { isEnded, type Run } from './run/run.ts'
import { problemWith, useArguments } from './use-arguments.ts'
import type { Runs } from './use-runs.ts'
import { filesOf, notesOf, useWireCall } from './use-wire-call.ts'
import { WireSwitch } from './wire-switch.tsx'
import { isWireId, wireOf } from './wires/index.ts'
import type { Entry } from './wires/wire.ts'

const Confirm = lazily(async () => (await import('./confirm.tsx')).Confirm)
const SaveCall = lazily(async () => (await import('./history/save-call.tsx')).SaveCall)

const CHECK = 'v1:callplane.calls.check'

type OperationPlace = Extract<Place, { name: 'operation' }>

interface OperationPageProps {
  entry: Entry
  entries: readonly Entry[]
  query: OperationPlace['query']
  runs: Runs
  drafts: Map<string, string>
}

/** Shown anew for each operation. */
export function OperationPage({ entry, entries, query, runs, drafts }: OperationPageProps) {
  const { server, router } = usePage()
  const who = useWho()
  const { op } = entry
  const wire = wireOf(isWireId(query.wire) ? query.wire : 'opencall')
  const tab = TABS.find((name) => name === query.tab) ?? 'result'
  const view = query.view === 'json' || query.view === 'both' ? query.view : 'form'
  const { text, setText } = useArguments(entry, drafts)
  const [attachments, setAttachments] = useState<Attachments>({})
  const [state, setState] = useState<ArgumentsState>()
  const [isAsking, setAsking] = useState(false)
  const [isSaving, setSaving] = useState(false)
  const [past, setPast] = useState<PastCall>()
  // A server without a version is one without the console's operations.
  const offersCheck = who.server.version !== ''
  const call = useWireCall({ entry, entries, text: text ?? '{}', attachments, wire: wire.id })
  const check = useMutation({
    mutationFn: () =>
      server.call(CHECK, { op, args: JSON.parse(text ?? '{}') as JsonObject, media: notesOf(attachments) }),
  })
  // What was said about another call says nothing about this one.
  useEffect(() => check.reset(), [text, attachments])
  // An error of an attachment is at no place in the arguments.
  const inArguments = useMemo(() => check.data?.errors.filter((error) => error.in !== 'media'), [check.data])

  const run = runs.of(op)
  const isBusy = run !== undefined && !isEnded(run.state.value)
  const refusal = wire.refusal(call)
  const problem = text === undefined ? undefined : problemWith(text)
  const isReadOnly = who.mode === 'read-only' && entry.sideEffecting === true
  // The server decides about values; the page only holds back what cannot be sent.
  const isComplete = (state?.missing.length ?? 0) === 0
  const isRunnable = text !== undefined && !problem && !refusal && !isReadOnly && isComplete
  const to = (changes: OperationPlace['query']) => href('operation', { op }, { ...query, ...changes })
  const start = () => {
    setAsking(false)
    setPast(undefined)
    // It said what would happen, and now it happens.
    check.reset()
    runs.start({ wire, call: call.fresh(), files: filesOf(attachments) })
    if (tab !== 'result' && tab !== 'exchange') router.replace(to({ tab: undefined }))
  }
  const ask = async () => {
    if (isBusy || isAsking || !isRunnable) return
    if (!entry.sideEffecting) return start()
    if (offersCheck) await check.mutateAsync().catch(() => undefined)
    setAsking(true)
  }
  useKeys([{ key: 'mod+enter', label: texts.keys.run, run: () => void ask() }])
  return (
    <article class="op">
      <OperationHead entry={entry}>
        <ShareButton />
        <Button tone="plain" onClick={() => setSaving(true)} disabled={problem !== undefined || !runs.history}>
          {texts.save}
        </Button>
        {offersCheck && (
          <Button
            title={texts.checkHint}
            disabled={problem !== undefined || check.isPending}
            onClick={() => check.mutate()}
          >
            {texts.check}
          </Button>
        )}
        {isBusy ? (
          <CancelButton run={run} isReadOnly={who.mode === 'read-only'} />
        ) : (
          <RunButton isEnabled={isRunnable} onRun={() => void ask()} />
        )}
      </OperationHead>
      <section class="panel" aria-label={texts.arguments}>
        <header class="wire-line">
          <span class="quiet" aria-hidden="true">
            {texts.wire}
          </span>
          <WireSwitch
            call={call}
            value={wire.id}
            onChange={(id) => router.replace(to({ wire: id === 'opencall' ? undefined : id }))}
          />
        </header>
        {text === undefined ? (
          <Skeleton />
        ) : (
          <div class="body">
            <ArgumentsView
              schema={entry.argsSchema}
              text={text}
              onText={setText}
              view={view}
              onView={(name) => router.replace(to({ view: name === 'form' ? undefined : name }))}
              media={entry.mediaSchema}
              attachments={attachments}
              onAttachments={setAttachments}
              serverFindings={inArguments}
              onState={setState}
            />
          </div>
        )}
      </section>
      {problem === 'no-object' && <Notice tone="warn">{texts.notObject}</Notice>}
      {isReadOnly && <Notice tone="warn">{texts.readOnly}</Notice>}
      {refusal && call.isReady && (
        <Notice tone="warn">
          <strong>{texts.cannotCarry(wire.title)}.</strong> {texts.refusals[refusal]}
        </Notice>
      )}
      {check.error && <Failure error={check.error} />}
      {check.data && !isAsking && <CheckView check={check.data} />}
      <OperationTabs
        tab={tab}
        to={(name) => to({ tab: name === 'result' ? undefined : name })}
        entries={entries}
        call={call}
        wire={wire}
        attachments={attachments}
        runs={runs}
        past={past}
        onShow={(one) => {
          setPast(one)
          router.replace(to({ tab: undefined }))
        }}
        onUse={(one) => setText(one.argsText)}
      />
      {isAsking && (
        <Confirm op={op} argsText={text ?? '{}'} check={check.data} onRun={start} onClose={() => setAsking(false)} />
      )}
      {isSaving && runs.history && (
        <SaveCall
          history={runs.history}
          entry={entry}
          wire={wire.id}
          argsText={text ?? '{}'}
          onClose={() => setSaving(false)}
        />
      )}
    </article>
  )
}

/** In read-only mode the server refuses to cancel a recorded call. A request of this page can always be given up. */
function CancelButton({ run, isReadOnly }: { run: Run; isReadOnly: boolean }) {
  const state = run.state.value
  const isCanceling = state.kind === 'running' && state.isCanceling === true
  const isRefused = isReadOnly && state.kind === 'running' && state.requestId !== undefined
  return (
    <Button
      tone="danger"
      icon="stop"
      disabled={isCanceling || isRefused}
      title={isRefused ? texts.readOnlyCancel : undefined}
      // The second click of a double click on Run is not meant for it.
      onClick={(event) => event.detail < 2 && void run.cancel()}
    >
      {state.kind === 'streaming' ? texts.stop : isCanceling ? texts.canceling : texts.cancel}
    </Button>
  )
}

function RunButton({ isEnabled, onRun }: { isEnabled: boolean; onRun(): void }) {
  const button = useRef<HTMLButtonElement>(null)
  // A newcomer presses Enter. A person who types somewhere is not disturbed.
  useEffect(() => {
    const { activeElement } = document
    if (isEnabled && (!activeElement || activeElement.matches('body, main'))) button.current?.focus()
  }, [isEnabled])
  return (
    <button
      type="button"
      ref={button}
      class="button primary run"
      aria-label={texts.run}
      disabled={!isEnabled}
      onClick={onRun}
    >
      {texts.run}
      <kbd data-keys={`${modKey()} ⏎`} />
    </button>
  )
}

/** The address is the state, so the address is the link. */
function ShareButton() {
  const { toasts } = usePage()
  return (
    <IconButton
      icon="link"
      label={texts.share}
      onClick={async () => {
        await navigator.clipboard.writeText(location.href)
        toasts.show({ text: texts.shared, tone: 'ok' })
      }}
    />
  )
}
