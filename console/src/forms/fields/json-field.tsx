/** A value of any kind, as JSON. Text that is not JSON yet stays in the field; the last value stays in the arguments. */
import { useEffect, useState } from 'preact/hooks'
import { texts } from '../../texts/en/forms.ts'
import { parseText } from '../text/parse.ts'
import type { ControlProps } from './field.tsx'
import { useForm } from './form-state.ts'

export function JsonField({ path, node, id, describedBy, invalid, label, field }: ControlProps) {
  const { edits, parsed } = useForm()
  const source = node ? parsed.text.slice(node.start, node.end) : ''
  const [draft, setDraft] = useState<string>()
  const [isWrong, setWrong] = useState(false)
  // The value changed elsewhere: what was half typed here no longer belongs to it.
  useEffect(() => {
    if (!isWrong) setDraft(undefined)
  }, [source, isWrong])
  const shown = draft ?? source
  return (
    <>
      <textarea
        id={id}
        class="input mono"
        rows={Math.min(16, shown.split('\n').length + 1)}
        value={shown}
        placeholder={field.fallback ?? texts.json}
        aria-label={label}
        aria-invalid={invalid || isWrong ? 'true' : undefined}
        aria-describedby={isWrong ? `${id}-draft` : describedBy}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          const typed = event.currentTarget.value
          const { root, mistakes, text } = parseText(typed)
          setDraft(typed)
          setWrong(mistakes.length > 0 && typed.trim() !== '')
          if (typed.trim() === '') edits.remove(path)
          else if (root && mistakes.length === 0) edits.set(path, text.slice(root.start, root.end))
        }}
        onBlur={() => !isWrong && setDraft(undefined)}
      />
      {isWrong && (
        <p class="problem" id={`${id}-draft`}>
          {texts.notJson}
        </p>
      )}
    </>
  )
}
