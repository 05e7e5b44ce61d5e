/** Starts servers of one or several processes as a user would, and measures all their processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Host } from './processes.ts'

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
const BARE = fileURLToPath(new URL('./contenders/bare-processes.ts', import.meta.url))
const OPERATIONS = fileURLToPath(new URL('./contenders/worker-operations.ts', import.meta.url))
/** Linux reports process times in hundredths of a second, independent of the kernel's own tick. */
const TICK_US = 10_000

/** Without workers, everything runs in one process. */
export function startServed(name: string, workers: number | undefined, data: string): Promise<Host> {
  const several = workers === undefined ? [] : ['--workers', String(workers)]
  return startProcesses(name, [MAIN, 'serve', OPERATIONS, '--port', '0', '--data', data, ...several])
}

/** The bare server, whose processes share nothing. */
export function startBare(name: string, processes: number | undefined): Promise<Host> {
  return startProcesses(name, [BARE, ...(processes === undefined ? [] : [String(processes)])])
}

async function startProcesses(name: string, args: readonly string[]): Promise<Host> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['--conditions=callplane-source', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const exited = once(child, 'exit')
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(() => Promise.reject(new Error(`${name} did not start.`))),
  ])) as [string]
  const { url } = JSON.parse(line) as { url: string }
  const pid = child.pid as number
  const pids = processesOf(pid)
  return {
    name,
    pid,
    port: Number(new URL(url).port),
    startedInMs: performance.now() - startedAt,
    ask: () => Promise.reject(new Error(`${name} answers no questions.`)),
    cpuUs: async () => pids.reduce((sum, pid) => sum + cpuOf(pid), 0),
    memory: () => Promise.reject(new Error(`${name} is not asked for its memory.`)),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))]
}

/**
 * proc(5): fields 14 and 15. They are counted after the program's name, which is in parentheses and may contain any
 * text.
 */
function cpuOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}
