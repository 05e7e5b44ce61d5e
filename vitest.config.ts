import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { filesOf, LeftOut, partOf } from './test/long-tests.ts'
import { RequirementGate } from './test/requirements/reporter.ts'

// Where .ci/run wants the results as JSON, and where `npm test` leaves its citations for `npm run test:all`.
const { TEST_RESULTS: resultsFile, TEST_CITATIONS: citationsFile } = process.env

export default defineConfig(({ mode }) => {
  const part = partOf(mode)
  return {
    // The package imports itself by name; here that means the sources.
    resolve: { conditions: ['callplane-source'] },
    ssr: { resolve: { conditions: ['callplane-source'] } },
    test: {
      ...filesOf(part),
      // Signals, the working directory and the exit code belong to a process: threads would share them.
      pool: 'forks',
      // Our modules keep no state, so the files of a worker share them. Loading them anew for each file took half of all
      // CPU time.
      isolate: false,
      // Vitest leaves one core free, which on two cores runs one file at a time.
      maxWorkers: availableParallelism(),
      // Many tests start processes from the sources. With compiled code of earlier starts they need a fifth less time.
      env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled') },
      // A busy machine takes several times as long; a test that hangs is still found.
      testTimeout: 30_000,
      hookTimeout: 30_000,
      reporters: [
        'default',
        ...(resultsFile ? ['json'] : []),
        new RequirementGate({ part, writePage: mode === 'conformance', citationsFile }),
        ...(part === 'quick' ? [new LeftOut()] : []),
      ],
      ...(resultsFile && { outputFile: { json: resultsFile } }),
    },
  }
})
