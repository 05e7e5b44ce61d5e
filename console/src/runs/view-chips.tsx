/** The person's own views beside the presets, and the way to make or delete one. */
import { useState } from 'preact/hooks'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { TextField } from '../design/field.tsx'
import { Icon } from '../design/icon.tsx'
import { usePage, useSavedViews } from '../shell/page.ts'
import { texts } from '../texts/en/runs.ts'

export function ViewChips({ text, onChange }: { text: string; onChange(text: string): void }) {
  const { toasts } = usePage()
  const views = useSavedViews()
  const [isNaming, setNaming] = useState(false)
  const current = views.list.value.find(({ filter }) => filter === text)
  return (
    <>
      {views.list.value.map(({ name, filter }) => (
        <button
          key={name}
          type="button"
          class="chip view"
          aria-pressed={filter === text}
          title={filter}
          onClick={() => onChange(filter === text ? '' : filter)}
        >
          <Icon name="eye" size={12} />
          <span class="clip">{name}</span>
        </button>
      ))}
      {text !== '' && !current && (
        <button type="button" class="chip add" onClick={() => setNaming(true)}>
          {texts.views.save}
        </button>
      )}
      {current && (
        <button
          type="button"
          class="chip add"
          onClick={() => {
            views.forget(current.name)
            toasts.show({ text: texts.views.forgotten(current.name), tone: 'ok' })
          }}
        >
          {texts.views.forget(current.name)}
        </button>
      )}
      {isNaming && <NameView filter={text} onClose={() => setNaming(false)} />}
    </>
  )
}

function NameView({ filter, onClose }: { filter: string; onClose(): void }) {
  const { toasts } = usePage()
  const views = useSavedViews()
  const [name, setName] = useState('')
  const given = name.trim()
  const isTaken = views.list.value.some((view) => view.name === given)
  return (
    <Dialog title={texts.views.title} onClose={onClose}>
      <form
        class="name-view"
        onSubmit={(event) => {
          event.preventDefault()
          if (given === '') return
          views.save({ name: given, filter })
          toasts.show({ text: texts.views.kept(given), tone: 'ok' })
          onClose()
        }}
      >
        <p class="mono quiet">{filter}</p>
        <TextField
          label={texts.views.name}
          hint={isTaken ? texts.views.replaces : texts.views.where}
          value={name}
          maxLength={60}
          autoFocus
          required
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <div class="actions">
          <Button onClick={onClose}>{texts.views.cancel}</Button>
          <Button tone="primary" type="submit" disabled={given === ''}>
            {texts.views.save}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
