/** Cancels one run. */
import { useMutation, useQueryClient } from '@tanstack/preact-query'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Failure } from '../design/feedback.tsx'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/run.ts'
import { useWhy, WhyField } from './why-field.tsx'

export function CancelDialog({ id, operation, onClose }: { id: string; operation: string; onClose(): void }) {
  const { server, toasts } = usePage()
  const queries = useQueryClient()
  const why = useWhy()
  const cancel = useMutation({
    mutationFn: (reason: string) => server.call('v1:callplane.calls.cancel', { ids: [id], why: reason }),
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
      <WhyField why={why} autoFocus />
      {cancel.error && <Failure error={cancel.error} />}
      <div class="actions">
        <Button onClick={onClose}>{texts.keepRunning}</Button>
        <Button
          tone="danger primary"
          disabled={cancel.isPending}
          onClick={() => why.given((reason) => cancel.isPending || cancel.mutate(reason))}
        >
          {texts.actions.cancel}
        </Button>
      </div>
    </Dialog>
  )
}
