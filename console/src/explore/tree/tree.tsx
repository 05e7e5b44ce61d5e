/** All operations, grouped and filtered. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Button } from '../../design/button.tsx'
import { Icon } from '../../design/icon.tsx'
import { SeenText } from '../../design/seen-text.tsx'
import { href } from '../../routes.ts'
import { useKeys } from '../../shell/keys.ts'
import { usePage } from '../../shell/page.ts'
import { texts } from '../../texts/en/explore.ts'
import { Windowed } from '../windowed.tsx'
import type { Entry } from '../wires/wire.ts'
import { indexOf, isOwn, namespaceOf, rowsOf, type TreeRow } from './operation-tree.ts'

const ROW = 30

interface TreeProps {
  entries: readonly Entry[]
  current: string | undefined
}

export function Tree({ entries, current }: TreeProps) {
  const { router } = usePage()
  const place = router.place.value
  const linked = place?.name === 'explore' ? (place.query.q?.trim() ?? '') : undefined
  const [search, setSearch] = useState(linked ?? '')
  const onSearch = (text: string) => {
    setSearch(text)
    if (linked !== undefined) router.setQuery('explore', { q: text || ' ' })
  }
  const input = useRef<HTMLInputElement>(null)
  const index = useMemo(() => indexOf(entries), [entries])
  const [closed, setClosed] = useState<ReadonlySet<string>>(
    () => new Set(index.groups.map(({ name }) => name).filter(isOwn)),
  )
  useEffect(() => {
    if (current !== undefined) setClosed((before) => without(before, namespaceOf(current)))
  }, [current])
  const rows = useMemo(() => rowsOf(index, search, closed), [index, search, closed])
  const ops = useMemo(() => rows.flatMap((row) => (row.kind === 'operation' ? [row.entry.op] : [])), [rows])
  const at = current === undefined ? -1 : ops.indexOf(current)
  const go = (op: string | undefined) => op !== undefined && router.go(href('operation', { op }))
  useKeys([
    { key: '/', label: texts.keys.filter, run: () => input.current?.focus() },
    { key: 'j', label: texts.keys.next, run: () => go(ops[at + 1]) },
    { key: 'k', label: texts.keys.previous, run: () => go(ops[Math.max(0, at - 1)]) },
  ])
  const shownRow = rows.findIndex((row) => row.kind === 'operation' && row.entry.op === current)
  const show = useMemo(() => (shownRow < 0 ? undefined : { row: shownRow }), [shownRow])
  const toggle = (name: string) => {
    const next = new Set(closed)
    if (!next.delete(name)) next.add(name)
    setClosed(next)
  }
  const all = index.texts.size
  const shown = search === '' ? all : ops.length
  return (
    <nav class="op-tree" aria-label={texts.operations}>
      <div class="tree-search">
        <input
          ref={input}
          class="input"
          type="search"
          placeholder={texts.search}
          aria-label={texts.search}
          value={search}
          onInput={(event) => onSearch(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') go(ops[0])
            if (event.key === 'Escape') onSearch('')
          }}
        />
        <p class="faint number" aria-live="polite">
          {texts.count(shown, all)}
        </p>
      </div>
      {rows.length === 0 && search !== '' && (
        <div class="tree-none">
          <p class="quiet">{texts.noMatch}</p>
          <Button size="small" onClick={() => onSearch('')}>
            {texts.clearFilter}
          </Button>
        </div>
      )}
      <Windowed
        class="tree-rows"
        label={texts.tree}
        count={rows.length}
        rowHeight={ROW}
        show={show}
        row={(index) => <Row key={index} row={rows[index]} current={current} search={search} onToggle={toggle} />}
      />
    </nav>
  )
}

interface RowProps {
  row: TreeRow | undefined
  current: string | undefined
  search: string
  onToggle(name: string): void
}

function Row({ row, current, search, onToggle }: RowProps) {
  if (!row) return null
  if (row.kind === 'group') {
    const { name, entries } = row.group
    return (
      <button
        type="button"
        class="tree-group"
        aria-expanded={row.isOpen}
        disabled={search !== ''}
        onClick={() => onToggle(name)}
      >
        <Icon name={row.isOpen ? 'down' : 'right'} size={12} />
        <span class="clip">{name === '' ? texts.noNamespace : name}</span>
        <span class="faint number">{entries.length}</span>
      </button>
    )
  }
  const { entry, label } = row
  return (
    <a
      class="tree-op"
      href={href('operation', { op: entry.op })}
      title={entry.op}
      aria-current={entry.op === current ? 'page' : undefined}
    >
      <span class={entry.deprecated ? 'clip gone' : 'clip'}>
        <SeenText text={label} />
      </span>
      {entry.executionModel !== 'sync' && entry.executionModel && (
        <span class="mark" title={texts.modelHints[entry.executionModel]}>
          {texts.models[entry.executionModel]}
        </span>
      )}
      {entry.sideEffecting && (
        <span class="mark warn" title={texts.effectsHint}>
          {texts.effectsMark}
        </span>
      )}
    </a>
  )
}

function without(names: ReadonlySet<string>, name: string): ReadonlySet<string> {
  return names.has(name) ? new Set([...names].filter((each) => each !== name)) : names
}
