/** NATS with JetStream on files. It syncs the files every two minutes, not per write, even for acknowledged writes. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { cpuUsOf } from './cpu-time.ts'
import { endProgram, findProgram, type StartEngine, startProgram } from './engine.ts'

export const startNats: StartEngine = async (folder) => {
  const program = findProgram('nats-server')
  if (!program) return { missing: 'there is no nats-server: "npm run engines -- bench" installs it' }
  const dir = join(folder, 'nats')
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  const args = ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', dir]
  const child = await startProgram(program, args, port)
  return { name: 'nats', port, cpuUs: () => cpuUsOf(child.pid ?? 0), stop: () => endProgram(child) }
}
