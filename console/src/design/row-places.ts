/**
 * The elements that show the rows of a window. When a row leaves the window, its element shows another row: making new
 * elements while a person scrolls leaves so many to the garbage collector that it stops the page for 50 ms.
 */
import { createRef, type RefObject } from 'preact'

/** An element, and the row that it shows now. */
interface Place {
  readonly key: number
  readonly element: RefObject<HTMLDivElement>
  id: string
}

export class RowPlaces {
  /** As they are rendered. They keep their order and have gaps, so that Preact moves no element. */
  readonly #rendered: (Place | undefined)[] = []
  /** In the order of the rows. */
  #inOrder: readonly Place[] = []
  readonly #changed = new Set<Place>()
  #made = 0
  #hasLostFocus = false

  /** Gives each of these rows an element, the same as before if it has one. */
  assign(ids: readonly string[]): readonly (Place | undefined)[] {
    const stays = new Set(ids)
    const left = this.#inOrder.filter(({ id }) => !stays.has(id))
    this.#hasLostFocus ||= left.some(({ element }) => element.current?.contains(document.activeElement))
    const known = new Map(this.#inOrder.map((place) => [place.id, place]))
    // In the order of the rows: after a jump to other rows no element has to be moved.
    const free = [...left.map((place) => this.#rendered.indexOf(place)), ...gapsOf(this.#rendered)]
    this.#inOrder = ids.map((id) => known.get(id) ?? this.#take(free.shift() ?? this.#rendered.length, id))
    for (const at of free) this.#rendered[at] = undefined
    return this.#rendered
  }

  #take(at: number, id: string): Place {
    const old = this.#rendered[at]
    const place = old && !hasSelectedText(old) ? old : { key: this.#made++, element: createRef(), id }
    place.id = id
    this.#rendered[at] = place
    this.#changed.add(place)
    return place
  }

  /**
   * After rendering: brings the elements into the order of their rows, which is the order of the Tab key and of screen
   * readers. Elements whose row stays are not moved, because that would take their focus away. The focus of a row that
   * left goes to the list, not to the row that its element shows now.
   */
  settle(scroller: HTMLElement | null): void {
    let next: Element | null = null
    for (const place of this.#changed.size > 0 ? this.#inOrder.toReversed() : []) {
      const element: Element | null = place.element.current
      if (this.#changed.has(place) && element?.nextElementSibling !== next)
        element?.parentElement?.insertBefore(element, next)
      next = element
    }
    this.#changed.clear()
    if (this.#hasLostFocus) scroller?.focus({ preventScroll: true })
    this.#hasLostFocus = false
  }
}

function gapsOf(rendered: readonly (Place | undefined)[]): number[] {
  return rendered.flatMap((place, at) => (place ? [] : [at]))
}

/** Selected text goes with its row. An element that shows another row would have that row's text selected. */
function hasSelectedText({ element }: Place): boolean {
  const selection = getSelection()
  if (!selection || selection.isCollapsed || !element.current) return false
  return selection.containsNode(element.current, true)
}
