/** Short messages at the edge. They stay until dismissed or replaced if they have an action, else for some seconds. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { classes, IconButton } from '../design/button.tsx'
import { Icon } from '../design/icon.tsx'
import { texts } from '../texts/en/shell.ts'
import { usePage } from './page.ts'

export interface Toast {
  readonly text: string
  readonly tone?: 'ok' | 'bad'
  readonly action?: { label: string; href: string }
}

export interface Toasts {
  readonly shown: ReadonlySignal<readonly Toast[]>
  show(toast: Toast): void
  dismiss(toast: Toast): void
}

const SHOWN_MS = 6_000
const MAX = 3

export function createToasts(): Toasts {
  const shown = signal<readonly Toast[]>([])
  const dismiss = (toast: Toast) => {
    shown.value = shown.peek().filter((one) => one !== toast)
  }
  return {
    shown,
    dismiss,
    show(toast) {
      shown.value = [...shown.peek(), toast].slice(-MAX)
      if (!toast.action && toast.tone !== 'bad') setTimeout(dismiss, SHOWN_MS, toast)
    },
  }
}

export function ToastList() {
  const { toasts } = usePage()
  return (
    <section class="toasts" aria-live="polite" aria-label={texts.messages}>
      {toasts.shown.value.map((toast) => (
        <div key={toast} class={classes('toast', toast.tone)}>
          <Icon name={toast.tone === 'bad' ? 'errors' : 'done'} />
          <span class="text">{toast.text}</span>
          {toast.action && (
            <a class="button small" href={toast.action.href} onClick={() => toasts.dismiss(toast)}>
              {toast.action.label}
            </a>
          )}
          <IconButton icon="close" size="small" label={texts.dismiss} onClick={() => toasts.dismiss(toast)} />
        </div>
      ))}
    </section>
  )
}
