/** The MQTT broker mosquitto, without the limits and the files that would slow it down before its clients. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { cpuUsOf } from './cpu-time.ts'
import { endProgram, findProgram, type StartEngine, startProgram } from './engine.ts'

export const startMosquitto: StartEngine = async (folder) => {
  const program = findProgram('mosquitto')
  if (!program) return { missing: 'there is no mosquitto: "npm run engines" installs it' }
  const dir = join(folder, 'mosquitto')
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  const config = join(dir, 'mosquitto.conf')
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    `user ${userInfo().username}`,
    'persistence false',
    // By default a client may have 20 messages in flight.
    'max_inflight_messages 1000',
    'set_tcp_nodelay true',
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  const child = await startProgram(program, ['-c', config], port)
  return { name: 'mosquitto', port, cpuUs: () => cpuUsOf(child.pid ?? 0), stop: () => endProgram(child) }
}
