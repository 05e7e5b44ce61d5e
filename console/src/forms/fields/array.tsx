/** The items of a list: rows with buttons to move and remove them, or a table. Long lists are shown in windows. */
import { useState } from 'preact/hooks'
import { Button, IconButton } from '../../design/button.tsx'
import { Segments } from '../../design/tabs.tsx'
import { texts } from '../../texts/en/forms.ts'
import { startText } from '../schema/start.ts'
import type { ArrayNode, JsonNode } from '../text/nodes.ts'
import { type ControlProps, FieldView } from './field.tsx'
import { useForm } from './form-state.ts'
import { columnsOf, Grid } from './grid.tsx'

/** From this many items on, a window of `WINDOW` is shown. */
const WINDOWED_FROM = 200
const WINDOW = 100

export function ArrayField(props: ControlProps) {
  const { field, applied, path, node, name } = props
  const { model, edits } = useForm()
  const [start, setStart] = useState(0)
  const [isGrid, setGrid] = useState(true)
  if (node?.kind !== 'array') return null
  const count = node.items.length
  const columns = field.tuple === 0 && field.items !== false ? columnsOf(model, field.items) : undefined
  const from = count < WINDOWED_FROM ? 0 : Math.min(start, Math.max(0, count - 1))
  const to = count < WINDOWED_FROM ? count : Math.min(count, from + WINDOW)
  const canAdd = count < field.maxItems && (field.items !== false || count < field.tuple)
  const add = () => {
    edits.insert(path, count, startText(model, model.itemPlace(applied, count)))
    if (count + 1 >= WINDOWED_FROM) setStart(Math.floor(count / WINDOW) * WINDOW)
  }
  return (
    <div class="form-fields">
      {columns && count > 0 && (
        <Segments
          label={texts.grid(field.title ?? name)}
          value={isGrid ? 'grid' : 'cards'}
          onChange={(view) => setGrid(view === 'grid')}
          options={[
            { name: 'grid', label: texts.asGrid },
            { name: 'cards', label: texts.asCards },
          ]}
        />
      )}
      {count >= WINDOWED_FROM && <Window from={from} to={to} count={count} onStart={setStart} />}
      {columns && isGrid && count > 0 ? (
        <Grid {...props} array={node} columns={columns} from={from} to={to} />
      ) : (
        <Rows {...props} array={node} from={from} to={to} />
      )}
      <div class="form-line">
        <Button size="small" disabled={!canAdd} aria-label={`${texts.addItem}: ${field.title ?? name}`} onClick={add}>
          {texts.addItem}
        </Button>
        <span class="hint">{texts.items(count)}</span>
      </div>
    </div>
  )
}

function Window({ from, to, count, onStart }: { from: number; to: number; count: number; onStart(at: number): void }) {
  return (
    <div class="form-line">
      <IconButton
        icon="up"
        label={texts.earlier}
        disabled={from === 0}
        onClick={() => onStart(Math.max(0, from - WINDOW))}
      />
      <IconButton icon="down" label={texts.later} disabled={to >= count} onClick={() => onStart(from + WINDOW)} />
      <span role="status">{texts.window(from + 1, to, count)}</span>
    </div>
  )
}

function Rows({ applied, path, array, from, to }: ControlProps & { array: ArrayNode; from: number; to: number }) {
  const { model } = useForm()
  return (
    <ol class="form-items" start={from + 1}>
      {array.items.slice(from, to).map((item: JsonNode, offset) => {
        const index = from + offset
        return (
          <li key={index}>
            <FieldView
              place={model.itemPlace(applied, index)}
              path={[...path, index]}
              node={item}
              name={texts.item(index)}
              required
              isItem
              actions={<ItemButtons path={path} index={index} count={array.items.length} />}
            />
          </li>
        )
      })}
    </ol>
  )
}

export function ItemButtons({ path, index, count }: { path: ControlProps['path']; index: number; count: number }) {
  const { edits } = useForm()
  const name = texts.item(index)
  const own = [...path, index]
  return (
    <>
      <IconButton
        icon="up"
        size="small"
        label={texts.up(name)}
        disabled={index === 0}
        onClick={() => edits.move(own, index - 1)}
      />
      <IconButton
        icon="down"
        size="small"
        label={texts.down(name)}
        disabled={index === count - 1}
        onClick={() => edits.move(own, index + 1)}
      />
      <IconButton icon="close" size="small" label={texts.remove(name)} onClick={() => edits.remove(own)} />
    </>
  )
}
