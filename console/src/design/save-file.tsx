/** Saves bytes as a file of the person's own. */
import { texts } from '../texts/en/design.ts'
import { Button } from './button.tsx'

export function saveFile(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // The download has begun when the next task runs.
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

interface SaveProps {
  /** A function makes it when it is wanted: it can be large. */
  blob: Blob | (() => Blob)
  name: string
  label?: string
}

export function SaveButton({ blob, name, label = texts.save }: SaveProps) {
  return (
    <Button size="small" icon="download" onClick={() => saveFile(typeof blob === 'function' ? blob() : blob, name)}>
      {label}
    </Button>
  )
}

/** Reads a file that a person chooses. The same file can be chosen twice. */
export function OpenFile({ label, onFile }: { label: string; onFile(file: File): void }) {
  return (
    <label class="button small">
      {label}
      <input
        class="only-read"
        type="file"
        accept="application/json,.json"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0]
          if (file) onFile(file)
          event.currentTarget.value = ''
        }}
      />
    </label>
  )
}
