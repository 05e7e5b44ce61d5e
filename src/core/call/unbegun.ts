/** A claim that ends before the handler was started: it is settled, and does not count as a start. */
import type { Change } from '../ports/store.ts'
import type { Instance } from './instance.ts'

export function settledUnbegun({ settled, extras }: Instance): Pick<Change, 'settled' | 'extras'> {
  return { settled: settled + 1, extras: { ...extras, unbegun: (extras?.unbegun ?? 0) + 1 } }
}
