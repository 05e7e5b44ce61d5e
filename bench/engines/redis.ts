/** Redis that syncs its log before it replies: the minimum for a fair comparison with a durable store. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { cpuUsOf } from './cpu-time.ts'
import { endProgram, findProgram, type StartEngine, startProgram } from './engine.ts'

export const startRedis: StartEngine = async (folder) => {
  const program = findProgram('redis-server')
  if (!program) return { missing: 'there is no redis-server: "npm run engines -- bench" installs it' }
  const dir = join(folder, 'redis')
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dir]
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const child = await startProgram(program, [...place, ...durable], port)
  return { name: 'redis', port, cpuUs: () => cpuUsOf(child.pid ?? 0), stop: () => endProgram(child) }
}
