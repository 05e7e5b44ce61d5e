/**
 * The page's keys. A screen registers its own while it is shown; the newest registration of a key wins. Keys without
 * Ctrl or Cmd are ignored while one types, and can be switched off.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { usePage } from './page.ts'

export interface KeyAction {
  /** `mod+k` is Ctrl+K, or Cmd+K on a Mac. Otherwise as in `event.key`, in lower case. */
  readonly key: string
  readonly label: string
  run(event: KeyboardEvent): void
}

export interface Keys {
  readonly actions: ReadonlySignal<readonly KeyAction[]>
  register(actions: readonly KeyAction[]): () => void
}

export function createKeys(window: Window, single: ReadonlySignal<boolean>): Keys {
  const actions = signal<readonly KeyAction[]>([])
  window.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return
    const key = keyOf(event)
    const isSingle = !key.startsWith('mod+')
    if (isSingle && (event.altKey || !single.peek() || isTyping(event.target) || isModal(event.target))) return
    if (key === 'enter' && isPressable(event.target)) return
    const action = actions.peek().findLast((one) => one.key === key)
    if (!action) return
    event.preventDefault()
    action.run(event)
  })
  return {
    actions,
    register(added) {
      actions.value = [...actions.peek(), ...added]
      return () => {
        actions.value = actions.peek().filter((one) => !added.includes(one))
      }
    },
  }
}

function keyOf(event: KeyboardEvent): string {
  return (event.ctrlKey || event.metaKey ? 'mod+' : '') + event.key.toLowerCase()
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.shadowRoot !== null
}

/** Enter presses a button and follows a link, also on a screen that gives it another meaning. */
function isPressable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('a[href], button, summary') !== null
}

/** An open dialog has its own keys. */
function isModal(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('dialog[open]') !== null
}

/** Registers keys while the component is shown. The functions may change from render to render. */
export function useKeys(actions: readonly KeyAction[]): void {
  const { keys } = usePage()
  const newest = useRef(actions)
  newest.current = actions
  const names = actions.map(({ key, label }) => `${key} ${label}`).join('\n')
  // Registered anew only if keys or labels change.
  useEffect(
    () =>
      keys.register(
        actions.map(({ key, label }, index) => ({ key, label, run: (event) => newest.current[index]?.run(event) })),
      ),
    [keys, names],
  )
}
