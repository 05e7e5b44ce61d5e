/** A server in its own process that is killed by a signal right after the first write with a given name. */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { systemClock } from '../../../src/server/build/environment.ts'
import { createSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { Death, mortalStore } from './death.ts'

const [, , data = '', point] = process.argv
const death = new Death(point)
death.happened.then(() => process.kill(process.pid, 'SIGKILL'))
const server = await createServer({
  operations: [operation('v1:desk.refund', { model: 'async', run: () => 'refunded' })],
  data,
  policy: { default: 'approve' },
  store: mortalStore(createSqliteStore({ file: join(data, 'callplane.db'), clock: systemClock }), death),
  log: 'silent',
})
const { url } = await server.listen({ port: 0 })
writeSync(1, `${url}\n`)
