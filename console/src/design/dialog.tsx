/** A modal dialog on the browser's own element: it keeps the focus, Esc closes it, and the page behind is inert. */
import type { ComponentChildren, RefObject } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { texts } from '../texts/en/design.ts'
import { classes, IconButton } from './button.tsx'

interface DialogProps {
  title: string
  onClose(): void
  wide?: boolean
  /** Without it there is a cross in the corner. */
  mustChoose?: boolean
  children: ComponentChildren
}

/** A dialog is open while it is rendered. When it closes, the focus returns to the element that had it. */
export function useModal(): RefObject<HTMLDialogElement> {
  const ref = useRef<HTMLDialogElement>(null)
  // Before the next key arrives: what a person types at once belongs to the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement
    ref.current?.showModal()
    return () => {
      ref.current?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return ref
}

export function Dialog({ title, onClose, wide, mustChoose, children }: DialogProps) {
  const ref = useModal()
  const id = useId()
  return (
    <dialog
      ref={ref}
      class={classes('dialog', wide && 'wide')}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div class="inner">
        <div class="head">
          <h2 id={id}>{title}</h2>
          {!mustChoose && <IconButton icon="close" label={texts.close} size="small" onClick={onClose} />}
        </div>
        {children}
      </div>
    </dialog>
  )
}
