/** Arguments or the result of a run: read on demand, because every reading is recorded, and slice by slice. */
import { useState } from 'preact/hooks'
import type { Payload as PayloadSlice } from '../api/types.ts'
import { Button } from '../design/button.tsx'
import { Copy } from '../design/copy.tsx'
import { Empty, Failure } from '../design/feedback.tsx'
import { JsonView, prettyJson } from '../design/json-view.tsx'
import { bytesOf } from '../design/time.tsx'
import { useMay, usePage } from '../shell/page.ts'
import { texts } from '../texts/en/run.ts'

const SLICE = 262_144

export function Payload({ id, part }: { id: string; part: PayloadSlice['part'] }) {
  const { server } = usePage()
  const may = useMay()
  const [slices, setSlices] = useState<readonly PayloadSlice[]>([])
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const last = slices.at(-1)
  const text = slices.map((slice) => slice.text).join('')

  async function load() {
    setBusy(true)
    setError(undefined)
    try {
      const offset = slices.reduce((sum, slice) => sum + byteLength(slice.text), 0)
      const slice = await server.call('v1:callplane.calls.payload', { id, part, offset, bytes: SLICE })
      setSlices([...slices, slice])
    } catch (thrown) {
      setError(thrown)
    } finally {
      setBusy(false)
    }
  }

  if (!last) {
    return (
      <Empty icon="eye" title={texts.payload.hidden}>
        <p>{may('callplane:payloads') ? texts.payload.why : texts.payload.noScope}</p>
        {error !== undefined && <Failure error={error} />}
        {may('callplane:payloads') && (
          <div class="actions">
            <Button tone="primary" icon="eye" disabled={isBusy} onClick={() => void load()}>
              {texts.payload.show[part]}
            </Button>
          </div>
        )}
      </Empty>
    )
  }
  const shown = last.complete ? prettyJson(text) : text
  return (
    <section class="panel payload" aria-label={texts.payload.show[part]}>
      <header>
        <span class="faint">
          {last.mediaType} · {bytesOf(last.bytes)}
          {last.redactions.length > 0 && ` · ${texts.payload.redacted(last.redactions.length)}`}
        </span>
        <Copy text={shown} />
      </header>
      <JsonView text={shown} label={texts.payload.show[part]} />
      {error !== undefined && <Failure error={error} />}
      {!last.complete && (
        <Button tone="plain" disabled={isBusy} onClick={() => void load()}>
          {texts.payload.more(bytesOf(last.bytes - byteLength(text)))}
        </Button>
      )}
    </section>
  )
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}
