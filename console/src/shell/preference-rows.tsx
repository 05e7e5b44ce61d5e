/** What a person can choose for this browser. The menu of the person and the settings show the same rows. */
import { Check } from '../design/field.tsx'
import { Segments } from '../design/tabs.tsx'
import { texts } from '../texts/en/person.ts'
import { usePage } from './page.ts'
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

export function PreferenceRows() {
  const { preferences } = usePage()
  return (
    <>
      <div class="choice">
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
      <div class="choice">
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
      <div class="choice">
        <Check
          label={texts.singleKeys}
          checked={preferences.singleKeys.value}
          onChange={(on) => {
            preferences.singleKeys.value = on
          }}
        />
      </div>
    </>
  )
}
