/** Removing many calls leaves nothing in the log that a later commit would have to copy all at once. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { expireNow } from '../../src/testing/fakes/expire-now.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'
import { temporaryFolder } from './folder.ts'

test('a purge copies its pages into the file, so that no later call has to', async () => {
  const clock = createManualClock()
  const file = join(temporaryFolder(), 'calls.db')
  const store = createSqliteStore({ file, clock })
  onTestFinished(() => store.close())
  const instances = Array.from({ length: 200 }, (_, n) =>
    sampleInstance(clock.now(), { args: { text: 'x'.repeat(n) } }),
  )
  await Promise.all(instances.map((instance) => store.accept(instance)))
  // Its size, not its content: opening the file here would release the store's lock.
  const before = statSync(file).size

  await expireNow(
    store,
    instances.slice(0, 1).map(({ id }) => id),
  )

  expect(statSync(file).size).toBeGreaterThan(before)
})
