/** Objects in memory pass the suite that every object store must pass. */
import { describe, expect, test } from 'vitest'
import { createMemoryObjects } from '../../src/testing/fakes/memory-objects.ts'
import { describeObjectStore } from '../../src/testing/suites/objects/objects.ts'

describeObjectStore({ describe, test, expect }, 'objects in memory', async () => ({
  objects: createMemoryObjects(),
  cleanup: async () => {},
}))
