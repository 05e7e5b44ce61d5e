/** One place of the arguments: its label, its state, the right control, and what is wrong with it. */
import type { ComponentChildren } from 'preact'
import { Button, IconButton } from '../../design/button.tsx'
import { SeenText } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/forms.ts'
import { type Field, type FieldKind, readField } from '../schema/field.ts'
import type { Applied, Place } from '../schema/model.ts'
import { startText } from '../schema/start.ts'
import type { JsonNode, Path } from '../text/nodes.ts'
import { compactText } from '../text/print.ts'
import { ArrayField } from './array.tsx'
import { branchNames, type Message, useForm } from './form-state.ts'
import { JsonField } from './json-field.tsx'
import { ObjectField } from './object.tsx'
import { OptionsField } from './options.tsx'
import { NumberField, StringField } from './scalar.tsx'

export interface FieldProps {
  place: Place
  path: Path
  node: JsonNode | undefined
  /** The property's name, or a name for an item. */
  name: string
  required: boolean
  /** An item of a list cannot be absent. */
  isItem?: boolean
  /** Buttons beside the label. */
  actions?: ComponentChildren
}

/** What every control gets. `id` is for its label, `describedBy` for hints and findings. */
export interface ControlProps {
  field: Field
  applied: Applied
  place: Place
  path: Path
  node: JsonNode | undefined
  name: string
  id: string
  describedBy: string | undefined
  invalid: boolean
  /** Without a visible label, as in a table. */
  label?: string
}

export function FieldView({ place, path, node, name, required, isItem, actions }: FieldProps) {
  const form = useForm()
  const applied = form.model.apply(place, node, path)
  const field = readField(form.model, applied)
  const id = form.idOf(path)
  const messages = form.findings.get(pointer(path)) ?? []
  const kind = kindOf(field, node)
  const notes = <Notes field={field} id={id} messages={messages} isSet={node !== undefined} />
  const describedBy = hasNotes(field) || messages.length > 0 ? `${id}-notes` : undefined
  const control = { field, applied, place, path, node, name, id, describedBy, invalid: messages.some(isError) }
  const marks = <Marks field={field} required={required && !isItem} />
  const state = <StateButtons {...control} required={required} isItem={isItem === true} actions={actions} />
  const title = field.title ?? name
  const isGroup = (kind === 'object' || kind === 'array') && field.options === undefined && node?.kind !== 'null'
  if (isGroup && path.length > 0) {
    return (
      <fieldset class="form-group" aria-describedby={describedBy} id={id} tabIndex={-1}>
        <legend>
          <SeenText text={title} />
        </legend>
        <div class="form-head">
          <TitleName title={title} name={name} />
          {marks}
          {state}
        </div>
        {notes}
        <Branches {...control} />
        <Body {...control} kind={kind} />
      </fieldset>
    )
  }
  if (path.length === 0) {
    return (
      <div class="form-root" id={id} tabIndex={-1}>
        {notes}
        <Branches {...control} />
        <Body {...control} kind={kind} />
      </div>
    )
  }
  return (
    <div class="form-field">
      <div class="form-head">
        <label for={id} id={`${id}-label`}>
          <SeenText text={title} />
        </label>
        <TitleName title={title} name={name} />
        {marks}
        {state}
      </div>
      <Branches {...control} />
      <Body {...control} kind={kind} />
      {notes}
    </div>
  )
}

function pointer(path: Path): string {
  return JSON.stringify(path)
}

/** The kind to show: that of the value if the schema allows it, else the first allowed one. */
export function kindOf(field: Field, node: JsonNode | undefined): FieldKind | undefined {
  const { kinds } = field
  if (node?.kind === 'number') return kinds.find((kind) => kind === 'number' || kind === 'integer') ?? kinds[0]
  return kinds.find((kind) => kind === node?.kind) ?? kinds[0]
}

function isMismatch(field: Field, node: JsonNode | undefined): boolean {
  if (!node || field.kinds.length === 0 || node.kind === 'null') return node?.kind === 'null' && !field.nullable
  return !field.kinds.some((kind) => kind === node.kind || (kind === 'integer' && node.kind === 'number'))
}

/** The control for the value. A value of a kind that the schema excludes stays editable as JSON. */
function Body({ kind, ...control }: ControlProps & { kind: FieldKind | undefined }) {
  const { edits, model } = useForm()
  const { field, node, path } = control
  if (field.never) return <p class="hint">{texts.never}</p>
  if (node?.kind === 'null' && field.nullable) return <code class="form-null">null</code>
  if (field.constant !== undefined) return <Constant {...control} />
  if (isMismatch(field, node) && node && path.length > 0) {
    return (
      <div class="form-mismatch">
        <p class="problem">{texts.mismatch(node.kind)}</p>
        <JsonField {...control} />
        <Button size="small" onClick={() => edits.set(path, startText(model, control.place))}>
          {texts.replaceMismatch}
        </Button>
      </div>
    )
  }
  if (field.options) return <OptionsField {...control} options={field.options} />
  switch (kind) {
    case 'object':
      return <ObjectField {...control} />
    case 'array':
      return <ArrayField {...control} />
    case 'string':
      return <StringField {...control} />
    case 'number':
    case 'integer':
      return <NumberField {...control} />
    case 'boolean':
      return <OptionsField {...control} options={BOOLEANS} />
    default:
      return field.properties.length > 0 && node?.kind !== 'array' ? (
        <ObjectField {...control} />
      ) : (
        <JsonField {...control} />
      )
  }
}

const BOOLEANS = [
  { text: 'true', label: texts.isTrue },
  { text: 'false', label: texts.isFalse },
]

function Constant({ field, path, node }: ControlProps) {
  const { edits, parsed } = useForm()
  const wanted = field.constant ?? 'null'
  const isSet = node && compactText(parsed.text.slice(node.start, node.end)) === compactText(wanted)
  if (isSet) return <code title={texts.fixed}>{wanted}</code>
  return (
    <Button size="small" onClick={() => edits.set(path, wanted)}>
      {texts.setFixed(wanted)}
    </Button>
  )
}

/** The switches between the branches of `oneOf` and `anyOf`, and between several types. */
function Branches({ field, place, path, node, name, id }: ControlProps) {
  const { model, edits } = useForm()
  const isGiven = node !== undefined || path.length === 0
  if (node?.kind === 'null' && field.nullable) return null
  return (
    <>
      {field.choices.map((choice, index) => (
        <Switch
          key={choice.key}
          id={`${id}-branch${index}`}
          label={texts.branch(field.title ?? name)}
          value={String(choice.active)}
          options={branchNames(model, choice).map((label, branch) => ({ value: String(branch), label }))}
          onChange={(branch) => edits.switchTo(model, choice, place, path, Number(branch))}
        />
      ))}
      {field.kinds.length > 1 && field.options === undefined && field.constant === undefined && isGiven && (
        <Switch
          id={`${id}-kind`}
          label={texts.kind(field.title ?? name)}
          value={kindOf(field, node) ?? ''}
          options={field.kinds.map((kind) => ({ value: kind, label: texts.kinds[kind] }))}
          onChange={(kind) => edits.set(path, EMPTY[kind as FieldKind])}
        />
      )}
    </>
  )
}

interface SwitchProps {
  id: string
  label: string
  value: string
  options: readonly { value: string; label: string }[]
  onChange(value: string): void
}

function Switch({ id, label, value, options, onChange }: SwitchProps) {
  return (
    <div class="form-branch">
      <label for={id}>{label}</label>
      <select id={id} class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  )
}

const EMPTY: Record<FieldKind, string> = {
  object: '{}',
  array: '[]',
  string: '""',
  number: '0',
  integer: '0',
  boolean: 'false',
}

/** The property's real name, where the schema gives it a title. */
function TitleName({ title, name }: { title: string; name: string }) {
  if (title === name) return null
  return (
    <code class="form-name">
      <SeenText text={name} />
    </code>
  )
}

function Marks({ field, required }: { field: Field; required: boolean }) {
  const marks = [
    required && texts.required,
    field.deprecated && texts.deprecated,
    field.readOnly && texts.readOnly,
    field.sensitive && texts.sensitive,
    field.format,
  ].filter((mark) => typeof mark === 'string')
  return marks.length > 0 ? <span class="form-marks">{marks.join(' · ')}</span> : null
}

/** Absent, null or set; the default and the examples; removing. */
function StateButtons({
  field,
  place,
  path,
  node,
  name,
  required,
  isItem,
  actions,
}: ControlProps & { required: boolean; isItem: boolean; actions: ComponentChildren }) {
  const { edits, model } = useForm()
  const title = field.title ?? name
  const state = node === undefined ? 'absent' : node.kind === 'null' && field.nullable ? 'null' : 'value'
  const kind = kindOf(field, node) ?? (field.properties.length > 0 ? 'object' : undefined)
  const isContainer =
    field.options === undefined && field.constant === undefined && (kind === 'object' || kind === 'array')
  return (
    <span class="form-actions">
      {field.fallback !== undefined && node === undefined && (
        <Button size="small" tone="plain" onClick={() => edits.set(path, field.fallback ?? 'null')}>
          {texts.useDefault(short(field.fallback))}
        </Button>
      )}
      {field.examples.length > 0 && (
        <select
          class="input form-small"
          aria-label={texts.examples(title)}
          value=""
          onChange={(event) => event.currentTarget.value && edits.set(path, event.currentTarget.value)}
        >
          <option value="">{texts.exampleFirst}</option>
          {field.examples.map((example) => (
            <option key={example} value={example}>
              {short(example)}
            </option>
          ))}
        </select>
      )}
      {field.nullable && (
        <select
          class="input form-small"
          aria-label={texts.state(title)}
          value={state}
          onChange={(event) => {
            if (event.currentTarget.value === 'absent') edits.remove(path)
            else edits.set(path, event.currentTarget.value === 'null' ? 'null' : startText(model, place))
          }}
        >
          {!isItem && <option value="absent">{texts.states.absent}</option>}
          <option value="null">{texts.states.null}</option>
          <option value="value">{texts.states.value}</option>
        </select>
      )}
      {node === undefined && isContainer && !field.nullable && (
        <Button
          size="small"
          aria-label={`${texts.add} ${title}`}
          onClick={() => edits.set(path, startText(model, place))}
        >
          {texts.add}
        </Button>
      )}
      {node !== undefined && !required && !isItem && !field.nullable && (
        <IconButton icon="close" size="small" label={texts.remove(title)} onClick={() => edits.remove(path)} />
      )}
      {actions}
    </span>
  )
}

function hasNotes(field: Field): boolean {
  return (
    field.description !== undefined ||
    field.unresolved.length > 0 ||
    field.unknown.length > 0 ||
    field.forbidden.length > 0 ||
    field.fallback !== undefined
  )
}

export function isError({ severity }: Message): boolean {
  return severity === 'error'
}

interface NotesProps {
  field: Field
  id: string
  messages: readonly Message[]
  isSet: boolean
}

function Notes({ field, id, messages, isSet }: NotesProps) {
  if (!hasNotes(field) && messages.length === 0) return null
  return (
    <div id={`${id}-notes`} class="form-notes">
      {messages.map(({ message, severity }) => (
        <p key={message} class={severity === 'error' ? 'problem' : 'warning'}>
          <SeenText text={message} />
        </p>
      ))}
      {field.description && (
        <p class="hint">
          <SeenText text={field.description} />
        </p>
      )}
      {field.fallback !== undefined && isSet && <p class="hint">{texts.defaultIs(short(field.fallback))}</p>}
      {field.forbidden.map((schema) => (
        <p key={schema} class="hint">
          {texts.forbidden(short(schema))}
        </p>
      ))}
      {field.unresolved.map((ref) => (
        <p key={ref} class="hint">
          {texts.unresolved(ref)}
        </p>
      ))}
      {field.unknown.length > 0 && <p class="hint">{texts.unknownKeywords(short(field.unknown.join(', '), 200))}</p>}
    </div>
  )
}

export function short(text: string, length = 40): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
