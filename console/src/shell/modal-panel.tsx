/** A dialog without a title of its own. A click beside it closes it. */
import type { ComponentChildren } from 'preact'
import { useModal } from '../design/dialog.tsx'

interface PanelProps {
  label: string
  class: string
  onClose(): void
  children: ComponentChildren
}

export function ModalPanel({ label, class: name, onClose, children }: PanelProps) {
  const ref = useModal()
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it, which the browser reports as cancel
    <dialog
      ref={ref}
      class={name}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      {children}
    </dialog>
  )
}
