/** Past calls of this browser, and saved ones. */
import { useEffect, useState } from 'preact/hooks'
import { Button, IconButton } from '../../design/button.tsx'
import { Check } from '../../design/field.tsx'
import { Status } from '../../design/status.tsx'
import { Time } from '../../design/time.tsx'
import { href } from '../../routes.ts'
import { usePage } from '../../shell/page.ts'
import { texts } from '../../texts/en/explore.ts'
import { encodeArgs } from '../link-args.ts'
import { SaveButton } from '../results/blob-view.tsx'
import { type CallHistory, exportSaved, importSaved, type PastCall, type SavedCall } from './call-history.ts'

interface HistoryViewProps {
  history: CallHistory
  op: string
  /** Changes when something was added. */
  version: number
  onShow(call: PastCall): void
}

export function HistoryView({ history, op, version, onShow }: HistoryViewProps) {
  const [calls, setCalls] = useState<PastCall[]>()
  const [isOnly, setOnly] = useState(true)
  useEffect(() => {
    let isGone = false
    void history.list().then((listed) => !isGone && setCalls(listed))
    return () => {
      isGone = true
    }
  }, [history, version])
  const shown = (calls ?? []).filter((call) => !isOnly || call.op === op)
  return (
    <div class="history">
      <SavedCalls history={history} version={version} />
      <section>
        <div class="value-tools">
          <h3>{texts.history.title}</h3>
          <span class="spring" />
          <Check label={texts.history.only} checked={isOnly} onChange={setOnly} />
          <Button
            size="small"
            disabled={calls === undefined || calls.length === 0}
            onClick={async () => {
              await history.clear()
              setCalls([])
            }}
          >
            {texts.history.clear}
          </Button>
        </div>
        {calls !== undefined && shown.length === 0 && <p class="quiet body">{texts.history.empty}</p>}
        <ul class="past">
          {shown.map((call) => (
            <li key={call.id}>
              <button type="button" class="past-call" onClick={() => onShow(call)}>
                <Status
                  call={{
                    state: call.outcome === 'failed' ? 'error' : call.outcome === 'canceled' ? 'canceled' : 'complete',
                  }}
                />
                <span class="mono clip">{isOnly ? call.argsText.replaceAll(/\s+/g, ' ') : call.op}</span>
                <span class="faint number">{texts.took(call.durationMs)}</span>
                <Time at={new Date(call.at).toISOString()} ago />
              </button>
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}

function SavedCalls({ history, version }: { history: CallHistory; version: number }) {
  const { toasts, router } = usePage()
  const [calls, setCalls] = useState<SavedCall[]>([])
  const [changes, setChanges] = useState(0)
  useEffect(() => {
    let isGone = false
    void history.saved().then((listed) => !isGone && setCalls(listed))
    return () => {
      isGone = true
    }
  }, [history, version, changes])
  const take = async (file: File | undefined) => {
    const imported = file && importSaved(await file.text())
    if (!imported) return toasts.show({ text: texts.history.badFile, tone: 'bad' })
    for (const call of imported) await history.save(call)
    setChanges(changes + 1)
    toasts.show({ text: texts.history.imported(imported.length), tone: 'ok' })
  }
  return (
    <section>
      <div class="value-tools">
        <h3>{texts.history.saved}</h3>
        <span class="spring" />
        <label class="button small">
          {texts.history.importAll}
          <input
            class="only-read"
            type="file"
            accept="application/json,.json"
            onChange={(event) => {
              void take(event.currentTarget.files?.[0])
              event.currentTarget.value = ''
            }}
          />
        </label>
        {calls.length > 0 && (
          <SaveButton
            blob={() => new Blob([exportSaved(calls)], { type: 'application/json' })}
            name="saved-calls.json"
            label={texts.history.exportAll}
          />
        )}
      </div>
      {calls.length === 0 && <p class="quiet body">{texts.history.noSaved}</p>}
      <ul class="past">
        {calls.map((call) => (
          <li key={call.id} class="saved-call">
            <button
              type="button"
              class="past-call"
              onClick={async () => {
                const a = await encodeArgs(call.argsText)
                router.go(
                  href('operation', { op: call.op }, { a, wire: call.wire === 'opencall' ? undefined : call.wire }),
                )
              }}
            >
              <strong class="clip">{call.name}</strong>
              <span class="mono faint clip">{call.op}</span>
            </button>
            <IconButton
              icon="close"
              size="small"
              label={texts.history.forget(call.name)}
              onClick={async () => {
                await history.forget(call.id)
                setChanges(changes + 1)
              }}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}
