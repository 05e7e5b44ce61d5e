/** A choice of given values: radio buttons for a few, a list for some, a search field for many. */
import { useState } from 'preact/hooks'
import { classes } from '../../design/button.tsx'
import { texts } from '../../texts/en/forms.ts'
import { canonicalNode } from '../check/equal.ts'
import type { Option } from '../schema/field.ts'
import { parseText } from '../text/parse.ts'
import type { ControlProps } from './field.tsx'
import { useForm } from './form-state.ts'

const MAX_RADIOS = 5
const MAX_LIST = 50
const MAX_FOUND = 100

export function OptionsField(props: ControlProps & { options: readonly Option[] }) {
  const { options, node, label } = props
  const text = node && canonicalNode(node)
  const current = options.find((option) => text !== undefined && canonicalText(option.text) === text)
  if (options.length > MAX_LIST) return <SearchField {...props} current={current} />
  if (options.length > MAX_RADIOS || label !== undefined) return <ListField {...props} current={current} />
  return <Radios {...props} current={current} />
}

type Chosen = ControlProps & { options: readonly Option[]; current: Option | undefined }

function canonicalText(text: string): string | undefined {
  const { root } = parseText(text)
  return root && canonicalNode(root)
}

function Radios({ options, current, path, id, describedBy }: Chosen) {
  const { edits } = useForm()
  return (
    <div class="form-radios" role="radiogroup" aria-labelledby={`${id}-label`} aria-describedby={describedBy}>
      {options.map((option, index) => (
        <label key={option.text} class="check" title={option.description}>
          <input
            type="radio"
            id={index === 0 ? id : undefined}
            name={id}
            checked={option === current}
            onChange={() => edits.set(path, option.text)}
          />
          {option.label}
        </label>
      ))}
    </div>
  )
}

function ListField({ options, current, path, id, describedBy, invalid, label, node }: Chosen) {
  const { edits } = useForm()
  const isUnknown = node !== undefined && current === undefined
  return (
    <select
      id={id}
      class="input"
      aria-label={label}
      aria-describedby={describedBy}
      aria-invalid={invalid ? 'true' : undefined}
      value={current?.text ?? ''}
      onChange={(event) => event.currentTarget.value && edits.set(path, event.currentTarget.value)}
    >
      <option value="">{isUnknown && node && 'raw' in node ? node.raw : texts.choose}</option>
      {options.map((option) => (
        <option key={option.text} value={option.text} title={option.description}>
          {option.label}
        </option>
      ))}
    </select>
  )
}

function SearchField({ options, current, path, id, describedBy, invalid, label, node }: Chosen) {
  const { edits } = useForm()
  const [draft, setDraft] = useState<string>()
  const shown = draft ?? current?.label ?? (node && 'raw' in node ? node.raw : '')
  const wanted = (draft ?? '').toLowerCase()
  const found: Option[] = []
  for (const option of options) {
    if (found.length >= MAX_FOUND) break
    if (option.label.toLowerCase().includes(wanted)) found.push(option)
  }
  return (
    <>
      <input
        id={id}
        class={classes('input')}
        list={`${id}-options`}
        autocomplete="off"
        aria-label={label}
        aria-describedby={describedBy}
        aria-invalid={invalid ? 'true' : undefined}
        value={shown}
        onInput={(event) => {
          const typed = event.currentTarget.value
          const match = options.find((option) => option.label === typed)
          setDraft(match ? undefined : typed)
          if (match) edits.set(path, match.text)
        }}
        onBlur={() => setDraft(undefined)}
      />
      <datalist id={`${id}-options`}>
        {found.map((option) => (
          <option key={option.text} value={option.label} />
        ))}
      </datalist>
      <p class="hint">{texts.optionsFound(found.length, options.length)}</p>
    </>
  )
}
