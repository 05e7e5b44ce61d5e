/**
 * Runs a function that may never end, such as a schema library on hostile input, and stops it after a time. V8 can stop
 * its own code, also within a regular expression; Node offers that for scripts. It costs about 0.1 ms, because a thread
 * is started to keep the time.
 */
import { type Context, createContext, Script } from 'node:vm'
import { TooCostly } from './too-costly.ts'

export type Guard = <T>(limitMs: number, task: () => T) => T

/** A wait shorter than this share of the limit in time of the processor was not the task's: the machine was busy. */
const BUSY_SHARE = 0.25

/** One for many tasks: a context takes a millisecond to make, so it is made when first used. */
export function createGuard(): Guard {
  const box: { task?: () => unknown } = {}
  const script = new Script('task()')
  let context: Context | undefined

  function run<T>(limitMs: number, task: () => T): T | typeof STOPPED {
    context ??= createContext(box)
    const before = box.task
    let thrown: { it: unknown } | undefined
    box.task = () => {
      try {
        return task()
      } catch (it) {
        // Kept apart from what the script itself throws when its time is up.
        thrown = { it }
        return undefined
      }
    }
    try {
      const value = script.runInContext(context, { timeout: limitMs })
      if (thrown) throw thrown.it
      return value
    } catch (error) {
      if (thrown || (error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      return STOPPED
    } finally {
      if (before) box.task = before
      else delete box.task
    }
  }

  return (limitMs, task) => {
    const used = process.cpuUsage()
    const first = run(limitMs, task)
    if (first !== STOPPED) return first
    const { user, system } = process.cpuUsage(used)
    const again = (user + system) / 1000 < limitMs * BUSY_SHARE ? run(limitMs, task) : STOPPED
    if (again !== STOPPED) return again
    throw new TooCostly('a check took longer than its time')
  }
}

const STOPPED = Symbol('stopped')
