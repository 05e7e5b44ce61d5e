/** The load generator with a fixed rate, in its own process. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createAsker } from './ask.ts'
import type { Pace, Paced } from './paced-load.ts'

export interface PacedLoad {
  start(pace: Pace): Promise<void>
  /** Stops sending, and settles when all sent calls have their replies. */
  finish(): Promise<Paced>
  stop(): Promise<void>
}

export function startPacedLoad(): PacedLoad {
  const child = fork(fileURLToPath(new URL('./paced-load.ts', import.meta.url)))
  const ask = createAsker(child, 'the load at a fixed rate')
  return {
    start: (pace) => ask<void>('start', pace),
    finish: () => ask<Paced>('finish'),
    async stop() {
      await ask('stop')
      child.disconnect()
    },
  }
}
