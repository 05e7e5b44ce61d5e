/** Saves the call of the page under a name. */
import { useQueryClient } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { TextField } from '../../design/field.tsx'
import { withoutSensitive } from '../../forms/schema/sensitive.ts'
import { usePage } from '../../shell/page.ts'
import { texts } from '../../texts/en/explore.ts'
import { labelOf } from '../tree/operation-tree.ts'
import type { Entry, WireId } from '../wires/wire.ts'
import type { CallHistory } from './call-history.ts'
import { HISTORY_KEY } from './use-history.ts'

interface SaveCallProps {
  history: CallHistory
  entry: Entry
  wire: WireId
  argsText: string
  onClose(isSaved: boolean): void
}

export function SaveCall({ history, entry, wire, argsText, onClose }: SaveCallProps) {
  const { toasts } = usePage()
  const queries = useQueryClient()
  const [name, setName] = useState(labelOf(entry.op))
  const save = async () => {
    await history.save({ name, op: entry.op, wire, argsText: withoutSensitive(argsText, entry.argsSchema) ?? '{}' })
    await queries.invalidateQueries({ queryKey: [HISTORY_KEY] })
    toasts.show({ text: texts.history.kept(name), tone: 'ok' })
    onClose(true)
  }
  return (
    <Dialog title={texts.save} onClose={() => onClose(false)}>
      <form
        class="field"
        onSubmit={(event) => {
          event.preventDefault()
          if (name !== '') void save()
        }}
      >
        <TextField
          label={texts.history.name}
          hint={texts.history.withoutSecrets}
          value={name}
          autoFocus
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <div class="actions">
          <Button onClick={() => onClose(false)}>{texts.confirm.cancel}</Button>
          <Button tone="primary" type="submit" disabled={name === ''}>
            {texts.history.keep}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
