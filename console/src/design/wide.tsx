/** What may be wider than the screen scrolls in its own place. Without a pointer, the arrow keys scroll it. */
import type { ComponentChildren } from 'preact'

export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is neither a part of a form nor a landmark of its own
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls must be reached by the keyboard
    <div class="scroll-x" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}
