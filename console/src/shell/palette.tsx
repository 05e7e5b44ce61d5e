/** The palette (Ctrl+K or Cmd+K): screens, own views, saved calls, operations, ids and actions. */
import { useQuery } from '@tanstack/preact-query'
import { useId, useMemo, useRef, useState } from 'preact/hooks'
import { useRegistry } from '../api/use-registry.ts'
import { classes } from '../design/button.tsx'
import { Icon, type IconName } from '../design/icon.tsx'
import { href } from '../routes.ts'
import type { SavedView } from '../runs/saved-views.ts'
import { texts } from '../texts/en/palette.ts'
import { texts as shellTexts } from '../texts/en/shell.ts'
import { entriesFor } from './entries.ts'
import { candidateOf, search } from './match.ts'
import { ModalPanel } from './modal-panel.tsx'
import { may, type Page, usePage, useSavedViews, useWho } from './page.ts'

export interface PaletteItem {
  readonly label: string
  /** In small letters beside the label: the kind of thing it is. */
  readonly kind: string
  readonly icon: IconName
  /** A fragment to go to, or something to do. */
  readonly run: string | (() => void)
}

const SHOWN = 50
const ID = /^[0-9a-f]{8}-[0-9a-f-]{20,27}$/i

export function Palette({ onClose, openHelp }: { onClose(): void; openHelp(): void }) {
  const page = usePage()
  const [query, setQuery] = useState('')
  const [active, setActive] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const everything = useEverything(openHelp)
  const found = useMemo(
    () => [...idItems(query.trim(), page), ...search(query, everything, SHOWN)].slice(0, SHOWN),
    [query, everything, page],
  )
  const current = Math.min(active, found.length - 1)

  function choose(item: PaletteItem | undefined) {
    if (!item) return
    onClose()
    if (typeof item.run === 'string') page.router.go(item.run)
    else item.run()
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') choose(found[current])
    else if (step && found.length > 0) {
      const next = (current + step + found.length) % found.length
      setActive(next)
      list.current?.children[next]?.scrollIntoView({ block: 'nearest' })
    } else return
    event.preventDefault()
  }

  return (
    <ModalPanel label={texts.title} class="palette" onClose={onClose}>
      <div class="query">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found.length > 0 ? `${id}-${current}` : undefined}
          aria-label={texts.title}
          placeholder={texts.placeholder}
          spellcheck={false}
          autocomplete="off"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value)
            setActive(0)
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </div>
      <div id={id} class="results" role="listbox" aria-label={texts.results} ref={list}>
        {found.map((item, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the input choose
          <div
            key={`${index} ${item.label}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            class={classes(index === current && 'active')}
            onPointerMove={() => setActive(index)}
            onClick={() => choose(item)}
          >
            <Icon name={item.icon} />
            <span class="clip">{item.label}</span>
            <span class="faint">{item.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="none quiet">{texts.none(query)}</p>}
    </ModalPanel>
  )
}

/** A typed or pasted id may be a run or an approval. */
function idItems(text: string, { server }: Page): PaletteItem[] {
  const state = server.session.state.peek()
  if (!ID.test(text) || state.kind !== 'in') return []
  return [
    ...(may(state.who, 'callplane:read')
      ? [{ label: text, kind: texts.kinds.run, icon: 'runs' as const, run: href('run', { id: text }) }]
      : []),
    ...(may(state.who, 'callplane:approve')
      ? [{ label: text, kind: texts.kinds.approval, icon: 'approvals' as const, run: href('approval', { id: text }) }]
      : []),
  ]
}

function useEverything(openHelp: () => void) {
  const page = usePage()
  const who = useWho()
  const { server, preferences } = page
  const registry = useRegistry()
  const savedCalls = useSavedCallItems(page)
  const views = useSavedViews().list.value
  return useMemo(() => {
    const screens = entriesFor(who).map(({ section, icon }) =>
      screenItem(shellTexts.screens[section], icon, href(section)),
    )
    const settings = screenItem(shellTexts.screens.settings, 'settings', href('settings'))
    const ownViews = may(who, 'callplane:read') ? views.map(viewItem) : []
    const actions: PaletteItem[] = [
      themeAction('light', () => (preferences.theme.value = 'light')),
      themeAction('dark', () => (preferences.theme.value = 'dark')),
      themeAction('system', () => (preferences.theme.value = 'system')),
      action(texts.actions.zone, 'clock', () => (preferences.utc.value = !preferences.utc.peek())),
      action(texts.actions.help, 'info', openHelp),
      ...(who.session ? [action(texts.actions.signOut, 'out', () => void server.session.signOut())] : []),
    ]
    const operations = (registry.data?.operations ?? []).map(
      (entry): PaletteItem => ({
        label: entry.op,
        kind: texts.kinds.operation,
        icon: 'play',
        run: href('operation', { op: entry.op }),
      }),
    )
    return [...screens, settings, ...ownViews, ...savedCalls, ...operations, ...actions].map((item) =>
      candidateOf(item, item.label),
    )
  }, [registry.data, who, views, savedCalls, preferences, server, openHelp])
}

/** Read each time the palette opens. A browser without storage has none. */
function useSavedCallItems({ server, router }: Page): readonly PaletteItem[] {
  const who = useWho()
  const saved = useQuery({
    queryKey: ['palette-calls', who.caller.tenant, who.caller.owner],
    staleTime: 0,
    queryFn: async () => {
      const { hrefOfSaved, savedCallsOf } = await import('../explore/history/open-saved.ts')
      return (await savedCallsOf(server, who)).map(
        (call): PaletteItem => ({
          label: call.name,
          kind: texts.kinds.savedCall,
          icon: 'play',
          run: () => void hrefOfSaved(call).then((fragment) => router.go(fragment)),
        }),
      )
    },
  })
  return saved.data ?? NO_ITEMS
}

const NO_ITEMS: readonly PaletteItem[] = []

function screenItem(label: string, icon: IconName, run: string): PaletteItem {
  return { label, kind: texts.kinds.screen, icon, run }
}

function viewItem({ name, filter }: SavedView): PaletteItem {
  return { label: name, kind: texts.kinds.view, icon: 'filter', run: href('runs', {}, { f: filter }) }
}

function action(label: string, icon: IconName, run: () => void): PaletteItem {
  return { label, kind: texts.kinds.action, icon, run }
}

function themeAction(theme: 'light' | 'dark' | 'system', run: () => void): PaletteItem {
  return action(texts.actions.theme[theme], theme === 'dark' ? 'moon' : 'sun', run)
}
