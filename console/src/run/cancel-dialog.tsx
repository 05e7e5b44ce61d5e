/** Cancels one run. */
import { useMutation, useQueryClient } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Failure } from '../design/feedback.tsx'
import { TextField } from '../design/field.tsx'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/run.ts'

export function CancelDialog({ id, operation, onClose }: { id: string; operation: string; onClose(): void }) {
  const { server, toasts } = usePage()
  const queries = useQueryClient()
  const [why, setWhy] = useState('')
  const [problem, setProblem] = useState<string>()
  const cancel = useMutation({
    mutationFn: () => server.call('v1:callplane.calls.cancel', { ids: [id], why: why.trim() }),
    onSuccess: ({ done, skipped }) => {
      const isDone = done.includes(id)
      const reason = skipped.find((one) => one.id === id)?.why
      toasts.show({
        text: isDone ? texts.canceled : [texts.notCanceled, reason].filter(Boolean).join(': '),
        tone: isDone ? 'ok' : 'bad',
      })
      void queries.invalidateQueries({ queryKey: ['run', id] })
      onClose()
    },
  })
  return (
    <Dialog title={texts.cancelTitle} onClose={onClose}>
      <p>
        <span class="mono">{operation}</span>
      </p>
      <p class="quiet">{texts.cancelText}</p>
      <TextField
        label={texts.why}
        problem={problem}
        value={why}
        maxLength={1000}
        onInput={(event) => setWhy(event.currentTarget.value)}
      />
      {cancel.error && <Failure error={cancel.error} />}
      <div class="actions">
        <Button onClick={onClose}>{texts.keepRunning}</Button>
        <Button
          tone="danger primary"
          disabled={cancel.isPending}
          onClick={() => {
            if (why.trim() === '') setProblem(texts.needsWhy)
            else if (!cancel.isPending) cancel.mutate()
          }}
        >
          {texts.actions.cancel}
        </Button>
      </div>
    </Dialog>
  )
}
