/**
 * Names of this server's containers. A name holds the host, the process id and the start time of that process, so the
 * server can recognise its own containers and those that a killed server left behind.
 */
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** The label that lists the containers of this host. */
export const LABEL = `callplane.host=${hostMark()}`

const NAME = /^callplane-([0-9a-f]{12})-(\d+)-(\d+)-[0-9a-f-]+$/

export function newContainerName(): string {
  return `callplane-${hostMark()}-${process.pid}-${startOf(process.pid) ?? 0}-${randomUUID()}`
}

/** True if the container belongs to this host and its server has exited. */
export function isLeftOver(name: string): boolean {
  const [, host, pid = '', start] = NAME.exec(name) ?? []
  if (host !== hostMark()) return false
  // Without /proc, any process with this id counts as the server. The container is then removed after that process
  // ends.
  const running = startOf(Number(pid)) ?? (isAlive(Number(pid)) ? '0' : undefined)
  return running !== start
}

/** Servers in separate containers may share one engine. Process ids are not comparable between them. */
function hostMark(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 12)
}

/**
 * Distinguishes a process from a later one with the same id: proc(5), field 22. `undefined` if there is no such process
 * or no /proc.
 */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the program's name in parentheses. It may contain any character, so the search starts at its
    // end.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    // There is no such process, or the system has no /proc.
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
