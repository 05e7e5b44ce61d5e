/** Who is signed in, and what they chose: theme, times, keys. A popover of the browser: Esc and a click outside close it. */
import { useId, useRef } from 'preact/hooks'
import { IconButton } from '../design/button.tsx'
import { Check } from '../design/field.tsx'
import { Icon } from '../design/icon.tsx'
import { Segments } from '../design/tabs.tsx'
import { texts } from '../texts/en/person.ts'
import { usePage, useWho } from './page.ts'
import type { Theme } from './preferences.ts'

const THEMES: readonly { name: Theme; label: string }[] = [
  { name: 'system', label: texts.themes.system },
  { name: 'light', label: texts.themes.light },
  { name: 'dark', label: texts.themes.dark },
]
const ZONES = [
  { name: 'local', label: texts.zones.local },
  { name: 'utc', label: texts.zones.utc },
] as const

export function PersonMenu() {
  const { preferences, server } = usePage()
  const who = useWho()
  const id = useId()
  const panel = useRef<HTMLDivElement>(null)
  const name = who.caller.userId ?? who.caller.owner
  return (
    <>
      <IconButton icon="person" label={texts.open} popovertarget={id} class="button icon plain" />
      <div id={id} ref={panel} popover="auto" class="menu person">
        <div class="who">
          <strong class="clip">{name || texts.nobody}</strong>
          {who.caller.tenant && <span class="faint clip">{texts.tenant(who.caller.tenant)}</span>}
          <span class="faint">
            {who.server.name} {who.server.version}
          </span>
        </div>
        <div class="row">
          <span>{texts.theme}</span>
          <Segments
            label={texts.theme}
            options={THEMES}
            value={preferences.theme.value}
            onChange={(theme) => {
              preferences.theme.value = theme
            }}
          />
        </div>
        <div class="row">
          <span>{texts.zone}</span>
          <Segments
            label={texts.zone}
            options={ZONES}
            value={preferences.utc.value ? 'utc' : 'local'}
            onChange={(zone) => {
              preferences.utc.value = zone === 'utc'
            }}
          />
        </div>
        <div class="row">
          <Check
            label={texts.singleKeys}
            checked={preferences.singleKeys.value}
            onChange={(on) => {
              preferences.singleKeys.value = on
            }}
          />
        </div>
        {who.session && (
          <button type="button" onClick={() => server.session.signOut()}>
            <Icon name="out" />
            {texts.signOut}
          </button>
        )}
      </div>
    </>
  )
}
