/** The arguments as text: a plain text field at once, and the editor with help from the schema when it has loaded. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../design/button.tsx'
import type { Finding } from '../forms/fields/summary.tsx'
import type { FormModel } from '../forms/schema/model.ts'
import { indentText, indentUnitOf } from '../forms/text/print.ts'
import { texts } from '../texts/en/forms.ts'
import type { EditorHandle } from './create-editor.ts'

interface Props {
  text: string
  onText(text: string): void
  model: FormModel
  findings: readonly Finding[]
  /** A place to show; a new object shows it again. */
  reveal: { start: number; end: number } | undefined
  label: string
}

export function JsonEditor(props: Props) {
  const host = useRef<HTMLDivElement>(null)
  const plain = useRef<HTMLTextAreaElement>(null)
  const newest = useRef(props)
  newest.current = props
  const [editor, setEditor] = useState<EditorHandle>()
  useEffect(() => {
    let made: EditorHandle | undefined
    let isGone = false
    void import('./create-editor.ts').then(
      ({ createEditor }) => {
        if (isGone || !host.current) return
        const hadFocus = document.activeElement === plain.current
        const cursor = plain.current?.selectionStart ?? 0
        made = createEditor(host.current, {
          text: newest.current.text,
          label: newest.current.label,
          onText: (text) => newest.current.onText(text),
          model: () => newest.current.model,
          findings: () => newest.current.findings,
        })
        setEditor(made)
        if (hadFocus) made.select({ start: cursor, end: cursor })
      },
      // The text field does everything that is needed; only the help is missing.
      () => undefined,
    )
    return () => {
      isGone = true
      made?.destroy()
    }
  }, [])
  useEffect(() => editor?.update(props.text), [editor, props.text])
  useEffect(() => editor?.showFindings(), [editor, props.findings])
  useEffect(() => {
    if (!props.reveal) return
    if (editor) editor.select(props.reveal)
    else if (plain.current) {
      plain.current.focus()
      plain.current.setSelectionRange(props.reveal.start, props.reveal.end)
    }
  }, [editor, props.reveal])
  return (
    <>
      <div ref={host} class="json-editor" />
      {!editor && (
        <textarea
          ref={plain}
          class="input mono json-plain"
          aria-label={props.label}
          spellcheck={false}
          autocomplete="off"
          value={props.text}
          onInput={(event) => props.onText(event.currentTarget.value)}
        />
      )}
      <div class="form-line">
        <Button size="small" onClick={() => props.onText(indentText(props.text, indentUnitOf(props.text)))}>
          {texts.format}
        </Button>
        <span class="hint">{texts.editorHelp}</span>
      </div>
    </>
  )
}
