/** Saves all that the filter of a screen matches as a file, not only the rows that are loaded. */
import { useMutation } from '@tanstack/preact-query'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ExportArgs } from '../api/types.ts'
import { Button, IconButton } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Failure } from '../design/feedback.tsx'
import { saveFile } from '../design/save-file.tsx'
import { Segments } from '../design/tabs.tsx'
import { bytesOf, countOf } from '../design/time.tsx'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/exports.ts'
import { fileNameOf, runExport } from './run-export.ts'
import './exports.css'

type Format = ExportArgs['format']

interface ExportProps {
  what: ExportArgs['what']
  filter: NonNullable<ExportArgs['filter']>
  /** The filter as the person sees it. */
  text: string
}

const FORMATS: readonly { name: Format; label: string }[] = [
  { name: 'jsonl', label: texts.formats.jsonl },
  { name: 'csv', label: texts.formats.csv },
]

export function ExportButton(props: ExportProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IconButton icon="download" label={texts.open[props.what]} onClick={() => setOpen(true)} />
      {isOpen && <ExportDialog {...props} onClose={() => setOpen(false)} />}
    </>
  )
}

function ExportDialog({ what, filter, text, onClose }: ExportProps & { onClose(): void }) {
  const { server, toasts, announce } = usePage()
  const [format, setFormat] = useState<Format>('jsonl')
  const [bytes, setBytes] = useState(0)
  const stop = useRef(new AbortController())
  // A dialog that is closed ends its export.
  useEffect(() => () => stop.current.abort(), [])
  const work = useMutation({
    mutationFn: () => runExport(server, { what, filter, format }, setBytes, stop.current.signal),
    onSuccess: ({ blob, rows }) => {
      const name = fileNameOf(texts.files[what], format, new Date())
      saveFile(blob, name)
      const done = texts.done(countOf(rows), name, bytesOf(blob.size))
      announce(done)
      toasts.show({ text: done, tone: 'ok' })
      onClose()
    },
  })
  return (
    <Dialog title={texts.open[what]} onClose={onClose}>
      <p class="quiet">{text === '' ? texts.all[what] : texts.matching[what]}</p>
      {text !== '' && <p class="mono export-filter">{text}</p>}
      <div class="field">
        <span class="label">{texts.format}</span>
        <Segments<Format> label={texts.format} options={FORMATS} value={format} onChange={setFormat} />
      </div>
      <p class="quiet">{texts.hints[format]}</p>
      {work.isPending && (
        <div class="export-progress" role="status">
          <progress class="progress" aria-label={texts.busy} />
          <span class="number">{bytes === 0 ? texts.writing : texts.received(bytesOf(bytes))}</span>
        </div>
      )}
      {work.error && <Failure error={work.error} />}
      <div class="actions">
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button
          tone="primary"
          icon="download"
          disabled={work.isPending}
          onClick={() => {
            setBytes(0)
            work.mutate()
          }}
        >
          {texts.start}
        </Button>
      </div>
    </Dialog>
  )
}
