import { defineConfig } from 'vitest/config'
import { RequirementGate } from './test/requirements/reporter.ts'

// Where .ci/run wants the results as JSON.
const resultsFile = process.env.TEST_RESULTS

export default defineConfig(({ mode }) => ({
  // The package imports itself by name; here that means the sources.
  resolve: { conditions: ['callplane-source'] },
  ssr: { resolve: { conditions: ['callplane-source'] } },
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    // Signals, the working directory and the exit code belong to a process: threads would share them.
    pool: 'forks',
    // A busy machine takes several times as long; a test that hangs is still found.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: [
      'default',
      ...(resultsFile ? ['json'] : []),
      new RequirementGate({ writePage: mode === 'conformance' }),
    ],
    ...(resultsFile && { outputFile: { json: resultsFile } }),
  },
}))
