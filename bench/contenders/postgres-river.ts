/** River, which is written in Go: a process of its own that runs jobs when it is asked to. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Contender } from './contender.ts'
import type { JobRun } from './durable-jobs.ts'

/** `npm run engines -- bench` builds it, if there is Go. */
const PROGRAM = join(import.meta.dirname, '../../.engines/river/river')

export const isRiverBuilt = (): boolean => existsSync(PROGRAM)

export const start: Contender = async ({ node }) => {
  if (!node) throw new Error('Give River the address of its database.')
  const child = spawn(PROGRAM, [node.url], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const readLine = async (): Promise<unknown> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('River ended; its own output is above.')
    return JSON.parse(value)
  }
  await readLine()
  return {
    port: 0,
    async work(given) {
      const wanted = given === 'check' ? { check: true } : (given as JobRun)
      child.stdin.write(`${JSON.stringify(wanted)}\n`)
      return readLine()
    },
    async close() {
      const exited = once(child, 'exit')
      child.stdin.end()
      await exited
    },
  }
}
