/** CPU time of a process that is not our child, and of the whole machine. Only Linux reports it, in hundredths of a second. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const TICK_US = 10_000

/** CPU time of the process, its running children, and the children that it has reaped. */
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
    // The process ended while we read its entry.
    if (['ENOENT', 'ESRCH'].includes((thrown as NodeJS.ErrnoException).code ?? '')) return undefined
    throw thrown
  }
  // The name in parentheses may contain spaces. Count the fields after it; the first is the state.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = (at: number) => Number(fields[at]) * TICK_US
  return { parent: Number(fields[1]), ownUs: ticks(11) + ticks(12), endedUs: ticks(13) + ticks(14) }
}

/** CPU time of the whole machine, with what the kernel does outside of processes and what the host takes away. */
export function machineCpuUs(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = line
    .trim()
    .split(/ +/)
    .slice(1)
    .map(Number)
  return (user + nice + system + interrupts + softInterrupts + stolen) * TICK_US
}
