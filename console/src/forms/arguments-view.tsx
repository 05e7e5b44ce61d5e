/**
 * The arguments of a call, as a form, as JSON, or both. The text is the only truth: the form edits the bytes of single
 * values in it, so order, spaces, unknown keys and long numbers survive. While the text is not JSON, the form shows the
 * last arguments that were, and waits.
 *
 * The owner keeps `text` and gives it back after `onText`:
 *
 *     const [text, setText] = useState(startArguments(schema))
 *     <ArgumentsView text={text} onText={setText} schema={entry.argsSchema} view={view} onView={setView} />
 *
 * Send the text as it is (`{"op":…,"args":${text}}`), not through `JSON.parse`, which rounds long numbers. Store and
 * share `withoutSensitive(text, schema)` only.
 */
import { useContext, useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { Notice } from '../design/feedback.tsx'
import { Segments } from '../design/tabs.tsx'
import { JsonEditor } from '../editor/json-editor.tsx'
import { PageContext } from '../shell/page.ts'
import { texts } from '../texts/en/forms.ts'
import { type Checked, checkArguments } from './check/check-arguments.ts'
import { AttachmentFields, type Attachments, type MediaSlot } from './fields/attachments.tsx'
import { Edits } from './fields/edits.ts'
import { FieldView } from './fields/field.tsx'
import { type Form, FormContext, fieldId } from './fields/form-state.ts'
import { type Finding, findingsByPath, findingsOf, type ServerFinding, Summary } from './fields/summary.tsx'
import './forms.css'
import { FormModel } from './schema/model.ts'
import { startText } from './schema/start.ts'
import { type Path, pointerOf } from './text/nodes.ts'
import { type Parsed, parseText } from './text/parse.ts'
import { DEFAULT_INDENT, indentText } from './text/print.ts'

export type { Attachment, Attachments, MediaSlot } from './fields/attachments.tsx'
export type { ServerFinding } from './fields/summary.tsx'
export { withoutSensitive } from './schema/sensitive.ts'

export type ArgumentsLayout = 'form' | 'json' | 'both'

export interface ArgumentsViewProps {
  /** The JSON text of the arguments. It may be broken. */
  text: string
  onText(text: string): void
  /** The JSON Schema of the arguments, as the registry has it. Anything else is taken as `{}`. */
  schema: unknown
  view: ArgumentsLayout
  /** With it, there is a switch, and the key E goes to the next view. */
  onView?(view: ArgumentsLayout): void
  /** `mediaSchema` of the registry. Without it there are no attachments. */
  media?: readonly MediaSlot[] | undefined
  attachments?: Attachments | undefined
  onAttachments?(attachments: Attachments): void
  /** Errors of `calls.check` for this very text. Drop them when the text changes. */
  serverFindings?: readonly ServerFinding[] | undefined
  /** Called when the state changes, and once at the start. */
  onState?(state: ArgumentsState): void
}

export interface ArgumentsState {
  /** False while the text is not JSON: it cannot be sent. */
  readonly isJson: boolean
  /** What this page found wrong. The server decides; a call may be sent all the same. */
  readonly errors: number
  /** Required attachments that are not given. */
  readonly missing: readonly string[]
}

/** The text of fresh arguments: required objects and constants, nothing else. */
export function startArguments(schema: unknown): string {
  const model = new FormModel(schema)
  const text = startText(model, model.root)
  return text === 'null' ? '{}' : indentText(text, DEFAULT_INDENT)
}

const LAYOUTS: readonly ArgumentsLayout[] = ['form', 'json', 'both']
const NO_ATTACHMENTS: Attachments = {}

export function ArgumentsView(props: ArgumentsViewProps) {
  const { text, onText, schema, view, onView, media, serverFindings } = props
  const id = useId()
  const [reveal, setReveal] = useState<{ start: number; end: number }>()
  const { form, parsed, isJson, checked } = useArguments(text, onText, schema, serverFindings, id)
  const findings = findingsOf(parsed, checked, serverFindings)
  useReport(props, isJson, findings.filter((finding) => finding.severity === 'error').length)
  useLayoutKey(view, onView)
  const goTo = (finding: Finding) => {
    const field = finding.path && view !== 'json' && isJson ? focusField(id, finding.path) : false
    if (!field) {
      if (view === 'form') onView?.('both')
      setReveal({ start: finding.start, end: finding.end })
    }
  }
  return (
    <div class={`arguments arguments-${view}`}>
      {onView && (
        <Segments
          label={texts.views.label}
          value={view}
          onChange={onView}
          options={LAYOUTS.map((name) => ({ name, label: texts.views[name] }))}
        />
      )}
      <Summary parsed={parsed} findings={findings} incomplete={checked.incomplete} onShow={goTo} />
      <div class="arguments-views">
        {view !== 'json' && (
          <section class="arguments-form" aria-label={texts.form}>
            {!isJson && <Notice tone="warn">{texts.frozen}</Notice>}
            <FormContext.Provider value={form}>
              <fieldset class="form-frame" disabled={!isJson}>
                <FieldView place={form.model.root} path={[]} node={form.parsed.root} name={texts.whole} required />
              </fieldset>
            </FormContext.Provider>
            {media && media.length > 0 && (
              <AttachmentFields
                slots={media}
                given={props.attachments ?? NO_ATTACHMENTS}
                onChange={(given) => props.onAttachments?.(given)}
              />
            )}
          </section>
        )}
        {view !== 'form' && (
          <section class="arguments-json" aria-label={texts.editor}>
            <JsonEditor
              text={text}
              onText={onText}
              model={form.model}
              findings={findings}
              reveal={reveal}
              label={texts.editor}
            />
          </section>
        )}
      </div>
    </div>
  )
}

/** The form of the last text that was JSON, and what is found in the present one. */
function useArguments(
  text: string,
  onText: (text: string) => void,
  schema: unknown,
  serverFindings: readonly ServerFinding[] | undefined,
  id: string,
): { form: Form; parsed: Parsed; isJson: boolean; checked: Checked } {
  const [picks, setPicks] = useState<ReadonlyMap<string, number>>(new Map())
  const base = useMemo(() => new FormModel(schema), [schema])
  const model = useMemo(() => base.withPicks(picks), [base, picks])
  const parsed = useMemo(() => parseText(text), [text])
  const isJson = parsed.mistakes.length === 0
  const lastGood = useRef<Parsed>()
  if (isJson || !lastGood.current) lastGood.current = isJson ? parsed : parseText('{}')
  const good = lastGood.current
  const newest = useRef(good)
  newest.current = good
  const tell = useRef(onText)
  tell.current = onText
  const edits = useMemo(() => {
    const write = (next: Parsed) => {
      newest.current = next
      tell.current(next.text)
    }
    const pick = (key: string, branch: number) => setPicks((before) => new Map([...before, [key, branch]]))
    return new Edits(() => newest.current, write, pick)
  }, [])
  const checked = useMemo(() => checkArguments(model, good), [model, good])
  const form = useMemo<Form>(
    () => ({
      model,
      parsed: good,
      edits,
      findings: findingsByPath(good, checked, serverFindings),
      idOf: (path) => fieldId(id, path),
    }),
    [model, good, edits, checked, serverFindings, id],
  )
  return { form, parsed, isJson, checked }
}

function useReport({ media, attachments, onState }: ArgumentsViewProps, isJson: boolean, errors: number): void {
  const missing = media?.filter(({ required, name }) => required && !attachments?.[name]).map(({ name }) => name) ?? []
  const key = JSON.stringify(missing)
  // Told when the state changes, not whenever the owner renders.
  useEffect(() => onState?.({ isJson, errors, missing }), [isJson, errors, key])
}

/** E goes to the next view, where the page has keys. */
function useLayoutKey(view: ArgumentsLayout, onView: ((view: ArgumentsLayout) => void) | undefined): void {
  const keys = useContext(PageContext)?.keys
  const next = LAYOUTS[(LAYOUTS.indexOf(view) + 1) % LAYOUTS.length] as ArgumentsLayout
  useEffect(() => {
    if (!keys || !onView) return undefined
    return keys.register([{ key: 'e', label: texts.views.label, run: () => onView(next) }])
  }, [keys, onView, next])
}

/** False if the field is not shown, as in a branch that is not open. */
function focusField(prefix: string, path: Path): boolean {
  for (let length = path.length; length > 0; length--) {
    const field = document.getElementById(fieldId(prefix, path.slice(0, length)))
    if (!field) continue
    field.focus()
    field.scrollIntoView({ block: 'center' })
    return pointerOf(path.slice(0, length)) !== '' || path.length === 0
  }
  return false
}
