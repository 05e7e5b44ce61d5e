/** A store that is used over a connection passes the suite that every store must pass. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createStoreClient, createStoreServer } from '../../src/stores/hub/index.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { describeStore } from '../../src/testing/suites/store/store.ts'
import { temporaryFolder } from './folder.ts'
import { connectTo } from './remote-pair.ts'

describeStore({ describe, test, expect }, 'a store of another process', async () => {
  const folder = temporaryFolder()
  const clock = createManualClock()
  const kept = createSqliteStore({ file: join(folder, 'calls.db'), clock })
  const { channel, end } = await connectTo(createStoreServer(kept), join(folder, 'socket'))
  const store = createStoreClient(channel, { clock })
  return {
    store,
    clock,
    async cleanup() {
      await store.close()
      await end()
      await kept.close()
    },
  }
})
