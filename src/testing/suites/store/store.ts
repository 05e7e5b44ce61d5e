/**
 * The shared test suite for stores. Pass your runner's `describe`, `test` and `expect`, and a function that opens an
 * empty store on a manual clock. The adapter itself tests files, servers and crashes.
 */
import type { Store } from '../../../core/ports/store.ts'
import type { ManualClock } from '../../fakes/clock.ts'
import type { TestRunner } from '../runner.ts'
import { describeAcceptance } from './acceptance.ts'
import { describeAudit } from './audit.ts'
import { describeLists } from './lists.ts'
import { describeRecords } from './records.ts'
import { describeTogether } from './together.ts'
import { describeTold } from './told.ts'
import { describeTurns } from './turns.ts'
import { describeUpkeep } from './upkeep.ts'
import { describeWaiting } from './waiting.ts'
import { describeWork } from './work.ts'

export interface OpenedStore {
  store: Store
  /** The store's own clock. */
  clock: ManualClock
  /** Closes the store and removes everything that was stored. */
  cleanup(): Promise<void>
}

export type StoreStory = (title: string, body: (store: Store, clock: ManualClock) => Promise<void>) => void

export function describeStore(runner: TestRunner, name: string, open: () => Promise<OpenedStore>): void {
  const story: StoreStory = (title, body) => {
    runner.test(title, async () => {
      const { store, clock, cleanup } = await open()
      try {
        await body(store, clock)
      } finally {
        await cleanup()
      }
    })
  }
  runner.describe(name, () => {
    describeAcceptance(runner, story)
    describeWork(runner, story)
    describeTurns(runner, story)
    describeWaiting(runner, story)
    describeTold(runner, story)
    describeUpkeep(runner, story)
    describeRecords(runner, story)
    describeTogether(runner, story)
    describeAudit(runner, story)
    describeLists(runner, story)
  })
}
