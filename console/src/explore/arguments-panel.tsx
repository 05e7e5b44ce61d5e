/** The arguments of the call. */
import { texts } from '../texts/en/explore.ts'
import type { Entry } from './wires/wire.ts'

/** A file, or the address of one that the server can fetch. */
export type Attachments = Readonly<Record<string, File | { readonly ref: string; readonly type: string }>>

interface ArgumentsPanelProps {
  entry: Entry
  text: string
  onText(text: string): void
  view: 'form' | 'json' | 'both'
  onView(view: 'form' | 'json' | 'both'): void
  attachments: Attachments
  onAttachments(attachments: Attachments): void
}

export function ArgumentsPanel({ entry, text, onText, attachments, onAttachments }: ArgumentsPanelProps) {
  const { mediaSchema = [] } = entry
  return (
    <div class="body">
      <textarea
        class="input mono"
        rows={Math.min(16, Math.max(4, text.split('\n').length))}
        aria-label={texts.argumentsJson}
        spellcheck={false}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {mediaSchema.map(({ name, acceptedTypes }) => (
        <label key={name} class="field">
          {name}
          <input
            type="file"
            accept={acceptedTypes.join(',')}
            onChange={(event) => {
              const file = event.currentTarget.files?.[0]
              if (file) onAttachments({ ...attachments, [name]: file })
            }}
          />
        </label>
      ))}
    </div>
  )
}
