/** What a person chose for this browser: theme, time zone, single keys. Kept in its storage, if it has one. */
import { effect, type Signal, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

export interface Preferences {
  readonly theme: Signal<Theme>
  readonly utc: Signal<boolean>
  /** False: keys without Ctrl or Cmd do nothing. */
  readonly singleKeys: Signal<boolean>
}

export function createPreferences(storage: Storage | undefined, root: HTMLElement): Preferences {
  const theme = signal<Theme>(themeOf(storage?.getItem('callplane.theme')))
  const utc = signal(storage?.getItem('callplane.utc') === 'yes')
  const singleKeys = signal(storage?.getItem('callplane.keys') !== 'no')
  effect(() => {
    root.dataset.theme = theme.value
    storage?.setItem('callplane.theme', theme.value)
  })
  effect(() => storage?.setItem('callplane.utc', utc.value ? 'yes' : 'no'))
  effect(() => storage?.setItem('callplane.keys', singleKeys.value ? 'yes' : 'no'))
  return { theme, utc, singleKeys }
}

function themeOf(text: string | null | undefined): Theme {
  return text === 'light' || text === 'dark' ? text : 'system'
}

/** Storage can be switched off: even reading the property throws then. */
export function storageOf(read: () => Storage): Storage | undefined {
  try {
    const storage = read()
    storage.getItem('callplane')
    return storage
  } catch {
    return undefined
  }
}
