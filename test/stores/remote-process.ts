/** One side of a connection to a store, for tests to kill: `keep` has the store, `run` uses it and runs a call. */
import { Socket } from 'node:net'
import { createChannel, createStoreClient, createStoreServer } from '../../src/stores/hub/index.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'

const [mode, file = ''] = process.argv.slice(2) as ['keep' | 'run', string?]
const clock = createManualClock()
const channel = createChannel(new Socket({ fd: 4 }))

if (mode === 'keep') createStoreServer(createSqliteStore({ file, clock })).serve(channel)
else {
  const store = createStoreClient(channel, { clock })
  const leased = { state: 'pending', attempt: 1, dueAt: clock.now() + 30_000 } as const
  const [runs, ended] = [sampleInstance(clock.now(), leased), sampleInstance(clock.now(), leased)]
  await Promise.all([store.accept(runs), store.accept(ended)])
  store.watch(sampleInstance(clock.now()).id, () => undefined)
  await store.advance({ id: ended.id, from: ['pending'], to: 'complete', attempt: 1 })
  process.send?.([runs.id, ended.id])
}
