/** Which rows of a long list are in the page: those in view and a few around them. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks'

export interface RowWindow {
  /** In pixels, of all rows. */
  readonly height: number
  readonly rows: readonly VirtualItem[]
  show(index: number): void
}

export function useRowWindow(scroller: RefObject<HTMLElement>, count: number, rowHeight: number): RowWindow {
  const [, render] = useReducer((times: number) => times + 1, 0)
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => render(undefined as never),
  }
  const [list] = useState(() => new Virtualizer<HTMLElement, Element>(options))
  list.setOptions(options)
  useEffect(() => list._didMount(), [list])
  useLayoutEffect(() => {
    list._willUpdate()
  })
  // Measured anew when rows become cards.
  useLayoutEffect(() => list.measure(), [rowHeight])
  return {
    height: list.getTotalSize(),
    rows: list.getVirtualItems(),
    show: (index) => list.scrollToIndex(index, { align: 'auto' }),
  }
}

/** True while a media query matches. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches)
  useEffect(() => {
    const list = window.matchMedia(query)
    const change = () => setMatches(list.matches)
    list.addEventListener('change', change)
    return () => list.removeEventListener('change', change)
  }, [query])
  return matches
}
