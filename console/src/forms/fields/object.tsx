/** The properties of an object: those of the schema, and rows with a name of their own for all others. */
import { useId, useState } from 'preact/hooks'
import { Button, IconButton } from '../../design/button.tsx'
import { texts } from '../../texts/en/forms.ts'
import type { Property } from '../schema/field.ts'
import { startText } from '../schema/start.ts'
import { memberOf } from '../text/nodes.ts'
import { type ControlProps, FieldView } from './field.tsx'
import { useForm } from './form-state.ts'

/** Of the optional properties that are not set, this many are shown at once. */
const MAX_OPTIONAL = 40
const MAX_FOUND = 100

export function ObjectField(props: ControlProps) {
  const { field, applied, path, node } = props
  const { model } = useForm()
  if (!node && path.length > 0) return null
  const object = node?.kind === 'object' ? node : undefined
  const known = new Set(field.properties.map((property) => property.name))
  const isSet = (name: string) => object !== undefined && memberOf(object, name) !== undefined
  let room = MAX_OPTIONAL
  const shown: Property[] = []
  const hidden: string[] = []
  for (const property of field.properties) {
    if (property.required || isSet(property.name) || room-- > 0) shown.push(property)
    else hidden.push(property.name)
  }
  const others = [...new Set(object?.members.map((member) => member.key))].filter((key) => !known.has(key))
  const canAdd = hidden.length > 0 || field.additional !== false || field.namePatterns.length > 0
  const isMap = field.additional !== false && (field.additional.length > 0 || field.namePatterns.length > 0)
  return (
    <div class="form-fields">
      {shown.map(({ name, required }) => (
        <FieldView
          key={name}
          place={model.propertyPlace(applied, name)}
          path={[...path, name]}
          node={object && memberOf(object, name)?.value}
          name={name}
          required={required}
        />
      ))}
      {others.map((name) => (
        <OtherProperty key={name} {...props} property={name} />
      ))}
      {canAdd && (isMap || hidden.length > 0 || field.properties.length === 0 || field.namePatterns.length > 0) && (
        <AddProperty {...props} hidden={hidden} />
      )}
    </div>
  )
}

function OtherProperty({ applied, path, node, property }: ControlProps & { property: string }) {
  const { model, edits } = useForm()
  const [draft, setDraft] = useState<string>()
  const own = [...path, property]
  const object = node?.kind === 'object' ? node : undefined
  const isTaken =
    draft !== undefined && draft !== property && object !== undefined && memberOf(object, draft) !== undefined
  return (
    <div class="form-entry">
      <input
        class="input mono form-key"
        aria-label={texts.rename(property)}
        aria-invalid={isTaken ? 'true' : undefined}
        value={draft ?? property}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={(event) => {
          if (edits.rename(own, event.currentTarget.value)) setDraft(undefined)
        }}
      />
      {isTaken && <p class="problem">{texts.nameTaken}</p>}
      <FieldView
        place={model.propertyPlace(applied, property)}
        path={own}
        node={object && memberOf(object, property)?.value}
        name={property}
        required
        isItem
        actions={
          <IconButton icon="close" size="small" label={texts.remove(property)} onClick={() => edits.remove(own)} />
        }
      />
    </div>
  )
}

/** A name, with suggestions for properties of the schema that are not shown. */
function AddProperty({
  field,
  applied,
  path,
  node,
  name: owner,
  hidden,
}: ControlProps & { hidden: readonly string[] }) {
  const { model, edits } = useForm()
  const id = useId()
  const [name, setName] = useState('')
  const object = node?.kind === 'object' ? node : undefined
  const isTaken = object !== undefined && memberOf(object, name) !== undefined
  const isKnown = hidden.includes(name)
  const fits = field.namePatterns.some((pattern) => model.facts.matches(pattern, name))
  const isRefused = name !== '' && field.additional === false && !isKnown && !fits
  const add = () => {
    if (isTaken || isRefused) return
    edits.set([...path, name], startText(model, model.propertyPlace(applied, name)))
    setName('')
  }
  const found = hidden.filter((each) => each.toLowerCase().includes(name.toLowerCase())).slice(0, MAX_FOUND)
  return (
    <div class="form-add">
      {hidden.length > 0 && <p class="hint">{texts.moreProperties(hidden.length)}</p>}
      <div class="form-line">
        <input
          class="input mono"
          aria-label={`${texts.propertyName}: ${owner}`}
          placeholder={texts.propertyName}
          list={hidden.length > 0 ? `${id}-names` : undefined}
          aria-invalid={isTaken || isRefused ? 'true' : undefined}
          aria-describedby={isTaken || isRefused ? `${id}-problem` : undefined}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
            event.preventDefault()
            add()
          }}
        />
        <Button size="small" disabled={isTaken || isRefused} onClick={add}>
          {texts.addProperty}
        </Button>
      </div>
      {hidden.length > 0 && (
        <datalist id={`${id}-names`}>
          {found.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {(isTaken || isRefused) && (
        <p class="problem" id={`${id}-problem`}>
          {isTaken ? texts.nameTaken : texts.nameRefused}
        </p>
      )}
    </div>
  )
}
