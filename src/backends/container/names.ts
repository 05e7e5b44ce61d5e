/**
 * What our containers are called, so that one can be told from another server's and what a killed server left behind
 * from what is at work. A name says on which host, by which process, and since when that process runs.
 */
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** The label under which the containers of this host are listed. */
export const LABEL = `callplane.host=${hostMark()}`

const NAME = /^callplane-([0-9a-f]{12})-(\d+)-(\d+)-[0-9a-f-]+$/

export function newContainerName(): string {
  return `callplane-${hostMark()}-${process.pid}-${startOf(process.pid) ?? 0}-${randomUUID()}`
}

/** Whether it is one of this host's whose server is gone. */
export function isLeftOver(name: string): boolean {
  const [, host, pid = '', start] = NAME.exec(name) ?? []
  if (host !== hostMark()) return false
  // Where there is no /proc a process id that is in use counts as the server, at worst until that process ends.
  const running = startOf(Number(pid)) ?? (isAlive(Number(pid)) ? '0' : undefined)
  return running !== start
}

/** Servers in containers of their own may share an engine: their process ids mean nothing to each other. */
function hostMark(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 12)
}

/** Tells a process from a later one with the same id: proc(5), field 22. Nothing if there is none, or no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the program's name in parentheses and may hold anything, so it is counted from its end.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    // No such process, or no such system.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}
