/** A list of flat objects as a table. Rows of a spreadsheet can be pasted into any cell. */
import { SeenText } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/forms.ts'
import { type Field, readField } from '../schema/field.ts'
import type { FormModel, Place } from '../schema/model.ts'
import type { ArrayNode } from '../text/nodes.ts'
import { memberOf } from '../text/nodes.ts'
import { parseText } from '../text/parse.ts'
import { ItemButtons } from './array.tsx'
import { parseRows } from './csv.ts'
import { type ControlProps, isError, kindOf } from './field.tsx'
import { useForm } from './form-state.ts'
import { JsonField } from './json-field.tsx'
import { OptionsField } from './options.tsx'
import { NumberField, StringField } from './scalar.tsx'

const MAX_COLUMNS = 8

export interface Column {
  readonly name: string
  readonly field: Field
}

/** `undefined` if the items are no flat objects, or have too many properties for a table. */
export function columnsOf(model: FormModel, items: Place): Column[] | undefined {
  const applied = model.apply(items, undefined, [])
  const item = readField(model, applied)
  if (item.kinds.length !== 1 || item.kinds[0] !== 'object' || item.choices.length > 0 || item.nullable)
    return undefined
  if (item.properties.length === 0 || item.properties.length > MAX_COLUMNS) return undefined
  const columns = item.properties.map(({ name }) => ({
    name,
    field: readField(model, model.apply(model.propertyPlace(applied, name), undefined, [])),
  }))
  const isFlat = ({ field }: Column) =>
    field.constant === undefined &&
    field.choices.length === 0 &&
    !field.nullable &&
    (field.options !== undefined ||
      (field.kinds.length === 1 && !['object', 'array'].includes(field.kinds[0] as string)))
  return columns.every(isFlat) ? columns : undefined
}

type GridProps = ControlProps & { array: ArrayNode; columns: readonly Column[]; from: number; to: number }

export function Grid({ path, array, columns, from, to, field, name }: GridProps) {
  const { edits } = useForm()
  const paste = (event: ClipboardEvent, row: number, column: number) => {
    const text = event.clipboardData?.getData('text/plain') ?? ''
    if (!/[\t\n]/.test(text.trim())) return
    event.preventDefault()
    for (const [down, cells] of parseRows(text).entries()) {
      if (row + down >= field.maxItems) break
      for (const [right, cell] of cells.entries()) {
        const target = columns[column + right]
        if (target && cell !== '') edits.set([...path, row + down, target.name], cellText(target.field, cell))
      }
    }
  }
  return (
    <div class="form-grid">
      <table aria-label={texts.grid(field.title ?? name)} aria-rowcount={array.items.length + 1}>
        <thead>
          <tr>
            <th scope="col">#</th>
            {columns.map((column) => (
              <th key={column.name} scope="col">
                <SeenText text={column.field.title ?? column.name} />
              </th>
            ))}
            <td />
          </tr>
        </thead>
        <tbody>
          {array.items.slice(from, to).map((_, offset) => {
            const index = from + offset
            return (
              <tr key={index} aria-rowindex={index + 2}>
                <th scope="row">{index + 1}</th>
                {columns.map((column, at) => (
                  <td key={column.name} onPaste={(event) => paste(event, index, at)}>
                    <Cell path={[...path, index]} array={array} index={index} column={column} />
                  </td>
                ))}
                <td class="form-actions">
                  <ItemButtons path={path} index={index} count={array.items.length} />
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      <p class="hint">{texts.pasteHint}</p>
    </div>
  )
}

function Cell({
  path,
  array,
  index,
  column,
}: {
  path: ControlProps['path']
  array: ArrayNode
  index: number
  column: Column
}) {
  const form = useForm()
  const own = [...path, column.name]
  const row = array.items[index]
  const node = row?.kind === 'object' ? memberOf(row, column.name)?.value : undefined
  const id = form.idOf(own)
  const messages = form.findings.get(JSON.stringify(own)) ?? []
  const props: ControlProps = {
    field: column.field,
    applied: form.model.apply([], node, own),
    place: [],
    path: own,
    node,
    name: column.name,
    id,
    describedBy: messages.length > 0 ? `${id}-notes` : undefined,
    invalid: messages.some(isError),
    label: texts.itemOf(column.field.title ?? column.name, index),
  }
  return (
    <>
      <CellControl {...props} />
      {messages.length > 0 && (
        <p class="problem" id={`${id}-notes`}>
          {messages[0]?.message}
        </p>
      )}
    </>
  )
}

function CellControl(props: ControlProps) {
  const { field, node } = props
  const kind = kindOf(field, node)
  const fits = node === undefined || node.kind === kind || (kind === 'integer' && node.kind === 'number')
  if (field.options) return <OptionsField {...props} options={field.options} />
  if (!fits) return <JsonField {...props} />
  if (kind === 'boolean') return <OptionsField {...props} options={BOOLEANS} />
  return kind === 'string' ? <StringField {...props} /> : <NumberField {...props} />
}

const BOOLEANS = [
  { text: 'true', label: texts.isTrue },
  { text: 'false', label: texts.isFalse },
]

/** A pasted cell as the JSON that its column wants. What does not fit becomes text, and a finding says so. */
function cellText(field: Field, cell: string): string {
  const option = field.options?.find((each) => each.label === cell || each.text === cell)
  if (option) return option.text
  const trimmed = cell.trim()
  const { root, mistakes } = parseText(trimmed)
  const wanted = field.kinds[0] === 'integer' ? 'number' : field.kinds[0]
  const lower = trimmed.toLowerCase()
  if (wanted === 'boolean' && (lower === 'true' || lower === 'false')) return lower
  return wanted !== 'string' && mistakes.length === 0 && root?.kind === wanted ? trimmed : JSON.stringify(cell)
}
