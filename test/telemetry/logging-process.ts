/** A separate process that logs to its standard output and then ends in the given way. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [how, count = '3'] = process.argv.slice(2)
let writes = 0
const { writeSync } = fs
fs.writeSync = ((...args: Parameters<typeof writeSync>) => {
  writes++
  return writeSync(...args)
}) as typeof writeSync
syncBuiltinESMExports()

const { createLog } = await import('../../src/telemetry/index.ts')
if (how === 'share') process.stderr.write('b')
if (how === 'handled') process.stdout.on('error', () => process.exit(3))
const log = createLog(how === 'by the stream' || how === 'handled' ? { destination: process.stdout } : {})
for (let number = 1; number <= Number(count); number++) log.info({ number, note: 'ü'.repeat(number % 50) }, 'said')

if (how === 'long') {
  log.info({ deep: { note: 'ü'.repeat(100_000) } }, 'long')
  log.info({}, 'last')
}
if (how === 'exit') process.exit(0)
if (how === 'throw') throw new Error('nobody catches this')
if (how === 'warn') {
  const before = writes
  log.warn({}, 'urgent')
  process.stderr.write(`${before} ${writes}`)
}
if (how === 'count') setImmediate(() => process.stderr.write(String(writes)))
if (how === 'terminated') {
  process.once('SIGTERM', () => {
    log.info({}, 'ending')
    process.exit(0)
  })
  process.kill(process.pid, 'SIGTERM')
}
if (how === 'later') setTimeout(() => log.info({}, 'last'), 1)
