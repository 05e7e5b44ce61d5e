/** Things that a person named and keeps in this browser: open, delete, and all of them to and from a file. */
import { texts } from '../texts/en/design.ts'
import { IconButton } from './button.tsx'
import { OpenFile, SaveButton } from './save-file.tsx'

interface KeptItem {
  key: string | number
  name: string
  /** In small letters beside the name. */
  detail: string
  open(): void
  forget(): void
}

interface KeptListProps {
  title: string
  /** What belongs here, if there is none. */
  empty: string
  items: readonly KeptItem[]
  file: { name: string; text(): string }
  /** The text of a file that the person chose. */
  onFile(text: string): void
}

export function KeptList({ title, empty, items, file, onFile }: KeptListProps) {
  return (
    <section class="kept" aria-label={title}>
      <div class="value-tools">
        <h3>{title}</h3>
        <span class="spring" />
        <OpenFile label={texts.import} onFile={async (chosen) => onFile(await chosen.text())} />
        {items.length > 0 && (
          <SaveButton
            blob={() => new Blob([file.text()], { type: 'application/json' })}
            name={file.name}
            label={texts.export}
          />
        )}
      </div>
      {items.length === 0 && <p class="quiet body">{empty}</p>}
      <ul class="past">
        {items.map((item) => (
          <li key={item.key}>
            <button type="button" class="past-call" onClick={item.open}>
              <strong class="clip">{item.name}</strong>
              <span class="mono faint clip">{item.detail}</span>
            </button>
            <IconButton icon="close" size="small" label={texts.forget(item.name)} onClick={item.forget} />
          </li>
        ))}
      </ul>
    </section>
  )
}
