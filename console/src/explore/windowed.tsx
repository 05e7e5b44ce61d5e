/** A list of which only the rows in sight are in the document. All rows have one height. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Browsers stop at about 33 million pixels. A taller list scrolls faster than its rows. */
const MAX_PIXELS = 8_000_000
/** Rows above and below what is in sight. */
const SPARE = 6

interface WindowedProps {
  count: number
  rowHeight: number
  label: string
  class?: string
  /** Is scrolled into sight for each new object. */
  show?: { readonly row: number } | undefined
  /** True: stays at the end while rows are added. */
  follow?: boolean
  row(index: number): ComponentChildren
}

export function Windowed({ count, rowHeight, label, class: more = '', show, follow, row }: WindowedProps) {
  const box = useRef<HTMLElement>(null)
  // The first row in sight, with its fraction. A place of the scroll bar would mean another row when the list grows.
  const [view, setView] = useState({ first: 0, height: 600 })
  /** Where the scroll bar was put or seen last. */
  const placed = useRef(0)
  const scale = scaleOf(count, rowHeight, view.height)

  const look = (first: number, height: number) =>
    setView((before) => (before.first === first && before.height === height ? before : { first, height }))
  const onScroll = () => {
    if (!box.current || box.current.scrollTop === placed.current) return
    const { scrollTop, clientHeight } = box.current
    placed.current = scrollTop
    look(scaleOf(count, rowHeight, clientHeight).rowAt(scrollTop), clientHeight)
  }
  const goTo = (wanted: number) => {
    const element = box.current
    if (!element) return
    const { last, topOf } = scaleOf(count, rowHeight, element.clientHeight)
    const first = Math.max(0, Math.min(wanted, last))
    // The end of the list can have a margin below the last row.
    element.scrollTop = first === last && last > 0 ? element.scrollHeight : topOf(first)
    placed.current = element.scrollTop
    look(first, element.clientHeight)
  }

  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => {
      const height = entry?.target.clientHeight ?? 600
      setView((before) => (before.height === height ? before : { ...before, height }))
    })
    if (box.current) watcher.observe(box.current)
    return () => watcher.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (follow) goTo(count)
    else if (scale.isSqueezed) goTo(view.first)
  }, [follow, count])
  useLayoutEffect(() => {
    if (!show || !box.current) return
    const inSight = box.current.clientHeight / rowHeight
    const isSeen = show.row >= view.first && show.row + 1 <= view.first + inSight
    if (!isSeen) goTo(show.row - inSight / 3)
  }, [show])

  const first = Math.max(0, Math.min(view.first, scale.last))
  const from = Math.max(0, Math.floor(first) - SPARE)
  const to = Math.min(count, from + Math.ceil(view.height / rowHeight) + 2 * SPARE)
  // In a list that is too tall the rows are put where the person looks.
  const offset = scale.isSqueezed ? scale.topOf(first) - (first - from) * rowHeight : from * rowHeight
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
    <section class={`windowed ${more}`} ref={box} onScroll={onScroll} tabIndex={0} aria-label={label}>
      <div class="space" style={{ blockSize: `${scale.pixels}px` }}>
        <div class="rows" style={{ transform: `translateY(${Math.max(0, offset)}px)` }}>
          {Array.from({ length: Math.max(0, to - from) }, (_, index) => row(from + index))}
        </div>
      </div>
    </section>
  )
}

/** Between rows and places of the scroll bar, for a box of this height. */
function scaleOf(count: number, rowHeight: number, height: number) {
  const total = count * rowHeight
  const pixels = Math.min(total, MAX_PIXELS)
  const isSqueezed = total > MAX_PIXELS
  /** The first row in sight at the end of the list. */
  const last = Math.max(0, count - height / rowHeight)
  const pixelsPerRow = isSqueezed ? (pixels - height) / last : rowHeight
  return {
    pixels,
    isSqueezed,
    last,
    topOf: (row: number) => row * pixelsPerRow,
    rowAt: (top: number) => Math.min(last, top / pixelsPerRow),
  }
}
