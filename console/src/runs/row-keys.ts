/** The keys of a list of runs: move, open and select. */
import type { CallSummary } from '../api/types.ts'
import { href } from '../routes.ts'
import { type KeyAction, useKeys } from '../shell/keys.ts'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/runs.ts'

interface RowKeys {
  /** The row that the keys act on. */
  chosen: CallSummary | undefined
  move(by: number): void
  toggle(id: string): void
}

/** `more` are keys that only this screen has. */
export function useRowKeys({ chosen, move, toggle }: RowKeys, more: readonly KeyAction[] = []): void {
  const { router } = usePage()
  useKeys([
    { key: 'j', label: texts.keys.next, run: () => move(1) },
    { key: 'k', label: texts.keys.previous, run: () => move(-1) },
    { key: 'enter', label: texts.keys.open, run: () => chosen && router.go(href('run', { id: chosen.id })) },
    { key: 'x', label: texts.keys.select, run: () => chosen && toggle(chosen.id) },
    ...more,
  ])
}

/** The row that is `by` further, within the list. */
export function rowAfter(current: number, by: number, length: number): number {
  return Math.max(0, Math.min(length - 1, current + by))
}
