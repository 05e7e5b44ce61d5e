/** All keys that work on the current screen, and the switch for single ones. */
import { Dialog } from '../design/dialog.tsx'
import { Check } from '../design/field.tsx'
import { texts } from '../texts/en/palette.ts'
import { modKey } from './frame.tsx'
import { usePage } from './page.ts'

export function KeyHelp({ onClose }: { onClose(): void }) {
  const { keys, preferences } = usePage()
  const { singleKeys } = preferences
  const newest = new Map(keys.actions.value.map((action) => [action.key, action]))
  return (
    <Dialog title={texts.help.title} onClose={onClose}>
      <dl class="keys">
        {[...newest.values()].map(({ key, label }) => (
          <div key={key}>
            <dt>
              {key.split('+').map((part) => (
                <kbd key={part}>{nameOf(part)}</kbd>
              ))}
            </dt>
            <dd class={singleKeys.value || key.startsWith('mod+') ? undefined : 'faint'}>{label}</dd>
          </div>
        ))}
      </dl>
      <Check
        label={texts.help.single}
        checked={singleKeys.value}
        onChange={(on) => {
          singleKeys.value = on
        }}
      />
      {!singleKeys.value && <p class="quiet">{texts.help.off}</p>}
    </Dialog>
  )
}

function nameOf(part: string): string {
  if (part === 'mod') return modKey()
  const names: Record<string, string> = { enter: 'Enter', escape: 'Esc', arrowup: '↑', arrowdown: '↓' }
  return names[part] ?? part.toUpperCase()
}
