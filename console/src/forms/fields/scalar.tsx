/** Text and numbers. The text of a number is kept as it is typed, so that long ones stay exact. */
import { useState } from 'preact/hooks'
import { Button, IconButton } from '../../design/button.tsx'
import { texts } from '../../texts/en/forms.ts'
import { lengthOf } from '../check/scalars.ts'
import { stringOf } from '../text/nodes.ts'
import { type ControlProps, short } from './field.tsx'
import { useForm } from './form-state.ts'

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Above this length one line is too little. */
const LONG = 200

export function NumberField({ field, path, node, id, describedBy, invalid, label }: ControlProps) {
  const { edits } = useForm()
  const [draft, setDraft] = useState<string>()
  const isWrong = draft !== undefined
  const shown = draft ?? (node?.kind === 'number' ? node.raw : '')
  return (
    <>
      <input
        id={id}
        class="input mono form-number"
        type="text"
        inputMode={field.kinds.includes('integer') ? 'numeric' : 'decimal'}
        autocomplete="off"
        spellcheck={false}
        value={shown}
        placeholder={ghost(field.fallback)}
        aria-label={label}
        aria-invalid={invalid || isWrong ? 'true' : undefined}
        aria-describedby={isWrong ? `${id}-draft` : describedBy}
        onInput={(event) => {
          const typed = event.currentTarget.value.trim()
          // "1," and "1e" are on the way to a number: the last number stays meanwhile.
          setDraft(typed === '' || NUMBER.test(typed) ? undefined : typed)
          if (NUMBER.test(typed)) edits.set(path, typed)
          else if (typed === '') edits.remove(path)
        }}
        onBlur={() => node === undefined && setDraft(undefined)}
      />
      {isWrong && (
        <p class="problem" id={`${id}-draft`}>
          {texts.notNumber}
        </p>
      )}
    </>
  )
}

export function StringField(props: ControlProps) {
  const { field, path, node, id, describedBy, invalid, name, label } = props
  const { edits } = useForm()
  const [isRevealed, setRevealed] = useState(false)
  const value = stringOf(node) ?? ''
  const set = (text: string) => edits.set(path, JSON.stringify(text))
  const isLong =
    field.mediaType !== undefined || (field.maxLength ?? 0) > LONG || value.length > LONG || /[\n\r]/.test(value)
  const common = {
    id,
    value,
    placeholder: ghost(field.fallback),
    'aria-label': label,
    'aria-invalid': invalid ? ('true' as const) : undefined,
    'aria-describedby': describedBy,
    autocomplete: 'off',
    spellcheck: false,
  }
  const isMultiline = isLong && !field.sensitive && label === undefined
  return (
    <>
      <div class="form-line">
        {isMultiline ? (
          <textarea
            class="input mono"
            rows={Math.min(12, value.split('\n').length + 2)}
            {...common}
            onInput={(event) => set(event.currentTarget.value)}
          />
        ) : (
          <input
            class="input"
            type={field.sensitive && !isRevealed ? 'password' : 'text'}
            inputMode={INPUT_MODES[field.format ?? '']}
            {...common}
            onInput={(event) => set(event.currentTarget.value)}
          />
        )}
        {field.sensitive && (
          <IconButton
            icon="eye"
            aria-pressed={isRevealed}
            label={(isRevealed ? texts.hide : texts.reveal)(field.title ?? name)}
            onClick={() => setRevealed(!isRevealed)}
          />
        )}
        {label === undefined && <Assist {...props} value={value} set={set} />}
      </div>
      {field.maxLength !== undefined && label === undefined && (
        <p class="hint form-count">{texts.count(lengthOf(value), field.maxLength)}</p>
      )}
    </>
  )
}

const INPUT_MODES: Record<string, 'email' | 'url'> = { email: 'email', uri: 'url', url: 'url' }

/** Native pickers and generators beside the text, which stays free to type. */
function Assist({ field, name, value, set }: ControlProps & { value: string; set(text: string): void }) {
  const title = `${field.title ?? name}: ${field.format ?? ''}`
  const pick = (event: { currentTarget: HTMLInputElement }, text: (picked: string) => string) => {
    if (event.currentTarget.value !== '') set(text(event.currentTarget.value))
  }
  switch (field.format) {
    case 'date':
      return (
        <input
          class="input form-pick"
          type="date"
          aria-label={title}
          value={value}
          onChange={(e) => pick(e, (date) => date)}
        />
      )
    case 'time':
      return (
        <input
          class="input form-pick"
          type="time"
          step={1}
          aria-label={title}
          value={value.slice(0, 8)}
          onChange={(e) => pick(e, (time) => `${time.length === 5 ? `${time}:00` : time}Z`)}
        />
      )
    case 'date-time':
      return (
        <>
          <input
            class="input form-pick"
            type="datetime-local"
            step={1}
            aria-label={title}
            value={localTime(value)}
            onChange={(e) => pick(e, (local) => new Date(local).toISOString())}
          />
          <Button size="small" onClick={() => set(new Date().toISOString())}>
            {texts.now}
          </Button>
        </>
      )
    case 'uuid':
      return (
        <Button size="small" onClick={() => set(newUuid())}>
          {texts.newUuid}
        </Button>
      )
    default:
      return field.encoding === 'base64' ? <FromFile set={set} /> : null
  }
}

function FromFile({ set }: { set(text: string): void }) {
  return (
    <label class="button small">
      {texts.fromFile}
      <input
        type="file"
        class="only-read"
        onChange={async (event) => {
          const file = event.currentTarget.files?.[0]
          if (file) set(base64Of(new Uint8Array(await file.arrayBuffer())))
        }}
      />
    </label>
  )
}

function base64Of(bytes: Uint8Array): string {
  let binary = ''
  // In pieces: a call has room for some ten thousand arguments only.
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192))
  return btoa(binary)
}

function localTime(value: string): string {
  const time = new Date(value)
  if (value === '' || Number.isNaN(time.getTime())) return ''
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** `crypto.randomUUID` exists only on pages of a secure origin. */
function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function ghost(fallback: string | undefined): string | undefined {
  return fallback && short(fallback.startsWith('"') ? JSON.parse(fallback) : fallback)
}
