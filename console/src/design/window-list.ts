/** Which rows of a long list are in the page: those in view and a few around them. All rows have one height. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type Range,
  Virtualizer,
} from '@tanstack/virtual-core'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks'
import { RowPlaces } from './row-places.ts'

/** Rows above and below those in view. */
const SPARE = 8

interface WindowRow<Item> {
  readonly item: Item
  readonly index: number
  /** In pixels, from the top of the list. */
  readonly start: number
  /** Of the element that shows the row. It shows another row later. */
  readonly key: number
  /** The row must put it on its outermost element. */
  readonly element: RefObject<HTMLDivElement>
}

interface RowWindow<Item> {
  /** In pixels, of all rows. */
  readonly height: number
  /** To be rendered in this order, with its gaps. */
  readonly rows: readonly (WindowRow<Item> | undefined)[]
  /** The index of the last row in the page. */
  readonly last: number
  show(index: number): void
}

export function useRowWindow<Item extends { readonly id: string }>(
  scroller: RefObject<HTMLElement>,
  items: readonly Item[],
  rowHeight: number,
): RowWindow<Item> {
  const [, render] = useReducer((times: number) => times + 1, 0)
  const options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    rangeExtractor: (range: Range): number[] => indexesAround(range, (list.scrollRect?.height ?? 0) / rowHeight),
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => render(undefined as never),
  }
  const [list] = useState(() => new Virtualizer<HTMLElement, Element>(options))
  const [places] = useState(() => new RowPlaces())
  list.setOptions(options)
  useEffect(() => list._didMount(), [list])
  useLayoutEffect(() => {
    list._willUpdate()
    places.settle(scroller.current)
  })
  // Measured anew when rows become cards.
  useLayoutEffect(() => list.measure(), [rowHeight])
  const inView = new Map(
    list.getVirtualItems().flatMap(({ index, start }) => {
      const item = items[index]
      return item ? [[item.id, { item, index, start }]] : []
    }),
  )
  return {
    height: list.getTotalSize(),
    rows: places.assign([...inView.keys()]).map((place) => {
      const row = place && inView.get(place.id)
      return row && { ...row, key: place.key, element: place.element }
    }),
    last: list.getVirtualItems().at(-1)?.index ?? 0,
    show: (index) => list.scrollToIndex(index, { align: 'auto' }),
  }
}

/** As many rows everywhere, also at both ends of the list, so that no element comes and goes. */
function indexesAround({ startIndex, count }: Range, inView: number): number[] {
  const length = Math.min(count, Math.ceil(inView) + 1 + 2 * SPARE)
  const first = Math.max(0, Math.min(startIndex - SPARE, count - length))
  return Array.from({ length }, (_, at) => first + at)
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
