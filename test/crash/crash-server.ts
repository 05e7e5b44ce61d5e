/** The server process that the crash tests kill. */
import { writeSync } from 'node:fs'
import { createServer } from 'callplane'
import { charge, exported, feed, held, order, server as settings, work } from './operations.ts'

const server = await createServer({
  operations: [work, held, charge, order, exported, feed],
  data: process.argv[2] as string,
  ...settings,
  ...(process.env.CRASH_MQTT && { mqtt: { url: process.env.CRASH_MQTT } }),
})
const { url } = await server.listen({ port: 0 })
writeSync(1, `${url}\n`)
