/** A call of a WebAssembly module with a warm thread: its CPU time on all threads, and the caller's waiting time. */
import { join } from 'node:path'
import { startHost } from '../processes.ts'
import { summarise } from '../statistics.ts'
import { medianUs, runWork } from '../work-rounds.ts'
import type { Findings, Settings } from './suite.ts'

const GOAL_MS = 5

export async function measureWasm({ quick, folder, say }: Settings): Promise<Findings> {
  const host = await startHost('wasm', { contender: 'governed', backend: 'wasm', data: join(folder, 'wasm') })
  try {
    const rounds = quick ? 9 : 41
    const calls = quick ? 100 : 300
    say(`backends: ${rounds} rounds of ${calls} calls of a wasm module, one at a time`)
    const [samples = []] = await runWork([host], { rounds, warmUpCalls: 500, calls, concurrency: 1 })
    const cpuUs = medianUs(samples)
    const waited = summarise(samples.map(({ elapsedMs }) => elapsedMs / calls))
    return {
      rows: [
        { suite: 'backends', contender: 'wasm: through the engine', cpuUs, figures: { 'ms per call': waited.median } },
      ],
      goals: [
        {
          suite: 'backends',
          name: 'warm wasm call',
          goal: `below ${GOAL_MS} ms`,
          measured: `${(cpuUs / 1000).toFixed(2)} ms of CPU; the caller waits ${waited.median.toFixed(2)} ms (${rounds} rounds)`,
          met: cpuUs < GOAL_MS * 1000 && waited.median < GOAL_MS,
        },
      ],
    }
  } finally {
    await host.stop()
  }
}
