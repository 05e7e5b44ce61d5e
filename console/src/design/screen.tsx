/** The shapes of screens: one column with a head, or a list beside the thing that is chosen in it. */
import type { ComponentChildren } from 'preact'
import { classes } from './button.tsx'

export function ScreenHead({
  title,
  lead,
  children,
}: {
  title: ComponentChildren
  lead?: ComponentChildren
  children?: ComponentChildren
}) {
  return (
    <header class="screen-head">
      <div class="title">
        <h1>{title}</h1>
        {lead && <p class="quiet">{lead}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  )
}

/** On narrow screens only one of the two is shown: the detail, if something is chosen. */
export function SplitScreen({
  list,
  detail,
  isChosen,
  label,
}: {
  list: ComponentChildren
  detail: ComponentChildren
  isChosen: boolean
  label: string
}) {
  return (
    <div class={classes('split', isChosen && 'chosen')}>
      <section class="split-list" aria-label={label}>
        {list}
      </section>
      <div class="split-detail">{detail}</div>
    </div>
  )
}
