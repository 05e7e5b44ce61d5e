/** The load generator that keeps a rate, in a process of its own. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createAsker } from './ask.ts'
import type { Pace, Paced } from './paced-load.ts'

export interface PacedLoad {
  start(pace: Pace): Promise<void>
  /** Sends no more, and settles when all that was sent is answered. */
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
