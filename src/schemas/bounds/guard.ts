/**
 * Runs a function that may never end, such as a schema library on hostile input, and stops it after a time. V8 can stop
 * its own code, also within a regular expression; Node offers that for scripts. It costs about 0.1 ms, because a thread
 * is started to keep the time.
 */
import { type Context, createContext, Script } from 'node:vm'
import { TooCostly } from './too-costly.ts'

/** `ownMs` is what the value itself is worth, beside what every task may take. */
export type Guard = <T>(ownMs: number, task: () => T) => T

/**
 * Every task may take this long at first. It is halved each time a task is stopped and grows again with those that end, so
 * that many small hostile values cost little, while honest ones need none of it.
 */
const FREE_MS = 50
const LEAST_FREE_MS = 5

/** A wait shorter than this share of the limit in time of the processor was not the task's: the machine was busy. */
const BUSY_SHARE = 0.25

const STOPPED = Symbol('stopped')

type Run = <T>(limitMs: number, task: () => T) => T | typeof STOPPED

/** One for all guards: a context takes a millisecond and half a megabyte. It holds a task only while that runs. */
const run = createRun()

function createRun(): Run {
  const box: { task?: () => unknown } = {}
  let stage: { script: Script; context: Context } | undefined
  return (limitMs, task) => {
    stage ??= { script: new Script('task()'), context: createContext(box) }
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
      const value = stage.script.runInContext(stage.context, { timeout: limitMs })
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
}

/** One for each schema: what hostile values of one cost does not shorten the time of another. */
export function createGuard(): Guard {
  let freeMs = FREE_MS

  function runTwice<T>(limitMs: number, task: () => T): T | typeof STOPPED {
    const used = process.cpuUsage()
    const first = run(limitMs, task)
    if (first !== STOPPED) return first
    const { user, system } = process.cpuUsage(used)
    return (user + system) / 1000 < limitMs * BUSY_SHARE ? run(limitMs, task) : STOPPED
  }

  return (ownMs, task) => {
    const value = runTwice(Math.ceil(freeMs + ownMs), task)
    if (value !== STOPPED) {
      freeMs = Math.min(freeMs + 1, FREE_MS)
      return value
    }
    freeMs = Math.max(freeMs / 2, LEAST_FREE_MS)
    throw new TooCostly('a check took longer than its time')
  }
}
