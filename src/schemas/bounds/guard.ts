/**
 * Runs a function that may never end, such as a schema library on hostile input, and stops it after a time limit. V8
 * can stop its own code, even within a regular expression, and Node offers that for scripts. This costs about 0.1 ms,
 * because a thread is started for the timer.
 */
import { type Context, createContext, Script } from 'node:vm'
import { TooCostly } from './too-costly.ts'

/** `ownMs` is the time for this value, in addition to the time that every task gets. */
export type Guard = <T>(ownMs: number, task: () => T) => T

/**
 * The time that every task gets at first. It is halved each time a task is stopped and grows again with tasks that end.
 * Many small hostile values therefore cost little, and valid values do not need this time.
 */
const FREE_MS = 50
const LEAST_FREE_MS = 5

/**
 * If the task used less than this share of the limit in CPU time, the machine was busy, and the task runs once more.
 */
const BUSY_SHARE = 0.25

const STOPPED = Symbol('stopped')

type Run = <T>(limitMs: number, task: () => T) => T | typeof STOPPED

/**
 * Shared by all guards, because a context takes a millisecond and half a megabyte. It refers to a task only while the
 * task runs.
 */
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
        // Kept separate from the error that the script throws at its time limit.
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

/** Each schema has its own guard, so that hostile values of one schema do not shorten the time of another. */
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
    throw new TooCostly('a check exceeded its time limit')
  }
}
