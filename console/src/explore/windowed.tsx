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
  /** Is scrolled into sight when it changes. */
  show?: number | undefined
  /** True: stays at the end while rows are added. */
  follow?: boolean
  row(index: number): ComponentChildren
}

export function Windowed({ count, rowHeight, label, class: more = '', show, follow, row }: WindowedProps) {
  const box = useRef<HTMLElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const total = count * rowHeight
  const pixels = Math.min(total, MAX_PIXELS)
  const measure = () => {
    const { scrollTop = 0, clientHeight = 600 } = box.current ?? {}
    setView((before) =>
      before.top === scrollTop && before.height === clientHeight ? before : { top: scrollTop, height: clientHeight },
    )
  }
  useEffect(() => {
    const watcher = new ResizeObserver(measure)
    if (box.current) watcher.observe(box.current)
    return () => watcher.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (show === undefined || !box.current) return
    const at = topOf(show * rowHeight, total, pixels, box.current.clientHeight)
    const { scrollTop, clientHeight } = box.current
    const isSeen = total <= MAX_PIXELS && at >= scrollTop && at + rowHeight <= scrollTop + clientHeight
    // In a list that is too tall a pixel stands for many rows.
    const above = total > MAX_PIXELS ? 0 : clientHeight / 3
    if (!isSeen) box.current.scrollTop = Math.max(0, at - above)
    measure()
  }, [show])
  useLayoutEffect(() => {
    if (!follow || !box.current) return
    box.current.scrollTop = pixels
    measure()
  }, [follow, count])
  const visible = Math.ceil(view.height / rowHeight)
  const range = Math.max(1, pixels - view.height)
  const share = total > MAX_PIXELS ? view.top / range : 0
  const firstSeen = total > MAX_PIXELS ? share * (count - visible) : view.top / rowHeight
  const first = Math.max(0, Math.min(count - visible, Math.floor(firstSeen)) - SPARE)
  const last = Math.min(count, first + visible + 2 * SPARE)
  // In a list that is too tall the rows are put where the person looks.
  const offset = total > MAX_PIXELS ? view.top - (firstSeen - first) * rowHeight : first * rowHeight
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
    <section class={`windowed ${more}`} ref={box} onScroll={measure} tabIndex={0} aria-label={label}>
      <div class="space" style={{ blockSize: `${pixels}px` }}>
        <div class="rows" style={{ transform: `translateY(${Math.max(0, offset)}px)` }}>
          {Array.from({ length: Math.max(0, last - first) }, (_, index) => row(first + index))}
        </div>
      </div>
    </section>
  )
}

function topOf(top: number, total: number, pixels: number, height: number): number {
  return total <= MAX_PIXELS ? top : (top / Math.max(1, total - height)) * (pixels - height)
}
