/** Who is signed in, and what they chose: theme, times, keys. A popover of the browser: Esc and a click outside close it. */
import { useId } from 'preact/hooks'
import { IconButton } from '../design/button.tsx'
import { Icon } from '../design/icon.tsx'
import { href } from '../routes.ts'
import { texts } from '../texts/en/person.ts'
import { usePage, useWho } from './page.ts'
import { PreferenceRows } from './preference-rows.tsx'

export function PersonMenu() {
  const { server } = usePage()
  const who = useWho()
  const id = useId()
  const name = who.caller.userId ?? who.caller.owner
  return (
    <>
      <IconButton icon="person" label={texts.open} popovertarget={id} class="button icon plain" />
      <div id={id} popover="auto" class="menu person">
        <div class="who">
          <strong class="clip">{name || texts.nobody}</strong>
          {who.caller.tenant && <span class="faint clip">{texts.tenant(who.caller.tenant)}</span>}
          <span class="faint">
            {who.server.name} {who.server.version}
          </span>
        </div>
        <PreferenceRows />
        <a href={href('settings')} onClick={(event) => event.currentTarget.parentElement?.hidePopover()}>
          <Icon name="settings" />
          {texts.settings}
        </a>
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
