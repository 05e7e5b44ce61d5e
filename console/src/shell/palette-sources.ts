/** Items that screens add to the palette while they have them, such as saved calls. */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { PaletteItem } from './palette.tsx'

export interface PaletteSources {
  readonly items: ReadonlySignal<readonly PaletteItem[]>
  /** Returns a function that takes them away again. */
  add(items: readonly PaletteItem[]): () => void
}

export function createPaletteSources(): PaletteSources {
  const items = signal<readonly PaletteItem[]>([])
  return {
    items,
    add(added) {
      items.value = [...items.peek(), ...added]
      return () => {
        items.value = items.peek().filter((one) => !added.includes(one))
      }
    },
  }
}
