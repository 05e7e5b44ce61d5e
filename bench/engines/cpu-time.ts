/** What a process that is not ours has used of the processor: only Linux tells, and in hundredths of a second. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const TICK_US = 10_000

/** The process, its children at work, and those it has seen end. */
export function cpuUsOf(pid: number): number {
  const own = readStat(pid)
  if (!own) return Number.NaN
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const children = pids.map((name) => readStat(Number(name))).filter((stat) => stat?.parent === pid)
  return children.reduce((sum, stat) => sum + (stat?.ownUs ?? 0), own.ownUs + own.endedUs)
}

function readStat(pid: number): { parent: number; ownUs: number; endedUs: number } | undefined {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return undefined
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (thrown) {
    // It ended while it was looked at.
    if (['ENOENT', 'ESRCH'].includes((thrown as NodeJS.ErrnoException).code ?? '')) return undefined
    throw thrown
  }
  // The name, in brackets, may have spaces in it: fields are counted from behind it, the state being the first.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = (at: number) => Number(fields[at]) * TICK_US
  return { parent: Number(fields[1]), ownUs: ticks(11) + ticks(12), endedUs: ticks(13) + ticks(14) }
}
