/** The attachments that an operation takes. Type and size are checked before anything is sent. */
import { useId, useState } from 'preact/hooks'
import { classes, IconButton } from '../../design/button.tsx'
import { texts } from '../../texts/en/forms.ts'

/** An entry of `mediaSchema` in the registry. */
export interface MediaSlot {
  readonly name: string
  readonly required: boolean
  readonly acceptedTypes: readonly string[]
  readonly maxBytes: number
}

/** A file, or the address of one that the server can fetch. */
export type Attachment = File | { readonly ref: string; readonly type: string }
export type Attachments = Readonly<Record<string, Attachment>>

interface Props {
  slots: readonly MediaSlot[]
  given: Attachments
  onChange(given: Attachments): void
}

export function AttachmentFields({ slots, given, onChange }: Props) {
  return (
    <fieldset class="form-group">
      <legend>{texts.attachments}</legend>
      <div class="form-fields">
        {slots.map((slot) => (
          <Slot
            key={slot.name}
            slot={slot}
            given={given[slot.name]}
            onChange={(attachment) => {
              const { [slot.name]: _, ...rest } = given
              onChange(attachment ? { ...rest, [slot.name]: attachment } : rest)
            }}
          />
        ))}
      </div>
    </fieldset>
  )
}

function Slot({
  slot,
  given,
  onChange,
}: {
  slot: MediaSlot
  given: Attachment | undefined
  onChange(to?: Attachment): void
}) {
  const id = useId()
  const [refused, setRefused] = useState<string>()
  const [isOver, setOver] = useState(false)
  const types = slot.acceptedTypes.length > 0 ? slot.acceptedTypes.join(', ') : texts.file.anyType
  const take = (file: File | undefined) => {
    if (!file) return
    const problem = problemWith(file, slot)
    setRefused(problem)
    if (!problem) onChange(file)
  }
  const problem = refused ?? (slot.required && !given ? texts.file.missing : undefined)
  return (
    <fieldset
      aria-label={slot.name}
      class={classes('form-field form-drop', isOver && 'over')}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer?.files[0])
      }}
    >
      <div class="form-head">
        <label for={id}>{slot.name}</label>
        {slot.required && <span class="form-marks">{texts.required}</span>}
      </div>
      {given instanceof File ? (
        <div class="form-line">
          <span>{texts.file.attached(given.name, given.type || texts.file.unknownType, sizeText(given.size))}</span>
          <IconButton icon="close" size="small" label={texts.remove(given.name)} onClick={() => onChange()} />
        </div>
      ) : (
        <p class="hint">{texts.file.drop}</p>
      )}
      <input
        id={id}
        type="file"
        accept={slot.acceptedTypes.join(',')}
        aria-describedby={`${id}-notes`}
        onChange={(event) => {
          take(event.currentTarget.files?.[0])
          event.currentTarget.value = ''
        }}
      />
      <label class="form-branch">
        <span>{texts.file.reference(slot.name)}</span>
        <input
          class="input"
          inputMode="url"
          value={given && !(given instanceof File) ? given.ref : ''}
          onInput={(event) => {
            const ref = event.currentTarget.value.trim()
            setRefused(undefined)
            onChange(ref === '' ? undefined : { ref, type: slot.acceptedTypes[0] ?? 'application/octet-stream' })
          }}
        />
      </label>
      <div id={`${id}-notes`} class="form-notes">
        {problem && (
          <p class="problem" role={refused ? 'alert' : undefined}>
            {problem}
          </p>
        )}
        <p class="hint">{texts.file.limit(types, sizeText(slot.maxBytes))}</p>
      </div>
    </fieldset>
  )
}

/** What the server would refuse: a type that the slot does not accept, or too many bytes. */
export function problemWith({ type, size }: { type: string; size: number }, slot: MediaSlot): string | undefined {
  const accepts = slot.acceptedTypes.some((accepted) => {
    const [family, name] = accepted.split('/')
    return accepted === '*/*' || accepted === type || (name === '*' && type.startsWith(`${family}/`))
  })
  if (slot.acceptedTypes.length > 0 && !accepts) {
    return texts.file.wrongType(type || texts.file.unknownType, slot.acceptedTypes.join(', '))
  }
  return size > slot.maxBytes ? texts.file.tooLarge(sizeText(size), sizeText(slot.maxBytes)) : undefined
}

function sizeText(bytes: number): string {
  const [unit, size] =
    bytes >= 1_048_576 ? ['MiB', bytes / 1_048_576] : bytes >= 1_024 ? ['KiB', bytes / 1_024] : ['bytes', bytes]
  return `${new Intl.NumberFormat('en', { maximumFractionDigits: 1 }).format(size as number)} ${unit}`
}
