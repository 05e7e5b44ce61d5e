/** The shapes of screens: one column with a head, or a list beside the thing that is chosen in it. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
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
  chosen,
  label,
}: {
  list: ComponentChildren
  detail: ComponentChildren
  /** What the detail shows: an id or a name. */
  chosen: string | undefined
  label: string
}) {
  const left = useRef<HTMLElement>(null)
  const right = useRef<HTMLDivElement>(null)
  const seen = useRef<string>()
  useEffect(() => right.current?.scrollTo(0, 0), [chosen])
  // The rows may arrive after the choice. Later the list is the reader's to scroll.
  useEffect(() => {
    if (chosen === seen.current) return
    const row = left.current?.querySelector(':scope > ul a[aria-current]')
    if (chosen !== undefined && !row) return
    seen.current = chosen
    row?.scrollIntoView({ block: 'nearest' })
  })
  return (
    <div class={classes('split', chosen !== undefined && 'chosen')}>
      <section class="split-list" aria-label={label} ref={left}>
        {list}
      </section>
      <div class="split-detail" ref={right}>
        {detail}
      </div>
    </div>
  )
}
