/** Replays one run, with its arguments or with edited ones, and opens the new run. */
import { useMutation, useQueryClient } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import type { JsonObject } from '../../../src/core/json.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Failure } from '../design/feedback.tsx'
import { TextField } from '../design/field.tsx'
import { prettyJson } from '../design/json-view.tsx'
import { Segments } from '../design/tabs.tsx'
import { href } from '../routes.ts'
import { useMay, usePage } from '../shell/page.ts'
import { texts } from '../texts/en/run.ts'
import { useWhy, WhyField } from './why-field.tsx'

const CALLERS = [
  { name: 'owner', label: texts.replay.asOwner },
  { name: 'me', label: texts.replay.asMe },
] as const
const HIDDEN = '[redacted]'

export function ReplayDialog({ id, operation, onClose }: { id: string; operation: string; onClose(): void }) {
  const { server, router, toasts } = usePage()
  const may = useMay()
  const queries = useQueryClient()
  const [as, setAs] = useState<'owner' | 'me'>('owner')
  const why = useWhy()
  /** Absent: the arguments stay as they were. */
  const [text, setText] = useState<string>()
  const read = useMutation({
    mutationFn: () => server.call('v1:callplane.calls.payload', { id, part: 'args' }),
    onSuccess: (payload) => {
      setText(prettyJson(payload.text))
      setAs('me')
    },
  })
  const isBroken = text !== undefined && !isJson(text)
  // A value that the server hides would reach the operation as this mark.
  const isHidden = text?.includes(HIDDEN) === true && (read.data?.redactions.length ?? 0) > 0
  const words = read.data?.complete === false ? texts.replay.tooLong : texts.replay.broken
  const mistake = isBroken ? words : isHidden ? texts.replay.hidden(HIDDEN) : undefined
  const replay = useMutation({
    mutationFn: async (why: string) => {
      const args = text === undefined ? {} : { args: JSON.parse(text) as JsonObject }
      const { started, refused } = await server.call('v1:callplane.calls.replay', {
        ids: [id],
        ...args,
        as,
        why,
      })
      const [first] = started
      if (first) return first
      const [reason] = refused
      throw new Error(texts.replay.refused(reason?.code ?? '', reason?.message ?? ''))
    },
    onSuccess: (started) => {
      toasts.show({ text: texts.replay.done, tone: 'ok' })
      // The first run names its replays.
      void queries.invalidateQueries({ queryKey: ['run', id] })
      onClose()
      router.go(href('run', { id: started.id }))
    },
  })
  return (
    <Dialog title={texts.replay.title} wide={text !== undefined} onClose={onClose}>
      <p class="mono">{operation}</p>
      <p class="quiet">{texts.replay.text}</p>
      {text === undefined && may('callplane:payloads') && (
        <div class="line-actions">
          <Button size="small" disabled={read.isPending} onClick={() => read.mutate()}>
            {texts.replay.edit}
          </Button>
          <span class="faint">{texts.replay.editWhy}</span>
        </div>
      )}
      {read.error && <Failure error={read.error} />}
      {text !== undefined && (
        <TextField
          label={texts.replay.args}
          multiline
          mono
          rows={12}
          spellcheck={false}
          problem={mistake}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      <div class="field">
        <span class="label">{texts.replay.as}</span>
        {text === undefined ? (
          <Segments label={texts.replay.as} options={CALLERS} value={as} onChange={(name) => setAs(name)} />
        ) : (
          <span class="quiet">{texts.replay.editedAsMe}</span>
        )}
      </div>
      <WhyField why={why} autoFocus />
      {replay.error && <Failure error={replay.error} />}
      <div class="actions">
        <Button onClick={onClose}>{texts.replay.back}</Button>
        <Button
          tone="primary"
          icon="replay"
          disabled={replay.isPending || isBroken || isHidden}
          onClick={() => why.given((reason) => replay.isPending || replay.mutate(reason))}
        >
          {texts.replay.start}
        </Button>
      </div>
    </Dialog>
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
