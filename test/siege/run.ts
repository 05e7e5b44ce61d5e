/**
 * `npm run siege [-- --kills 1000 --requests 1000000 --seed 1]`: an hour-long version of the short sieges in CI. It
 * kills a server repeatedly under load and sends hostile requests to another, then prints what it did and found.
 */
import { parseArgs } from 'node:util'
import { startChild } from '../attack/child.ts'
import { type HostileReport, sendHostileRequests } from '../attack/hostile-requests.ts'
import { siegeByKills } from '../crash/besieging.ts'

/** Each slice has its own seed, so that a finding can be reproduced in seconds. */
const SLICE = 10_000

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    requests: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const [kills, requests, seed] = [values.kills, values.requests, values.seed].map(Number) as [number, number, number]

const startedAt = Date.now()
const say = (line: string) => console.log(`${Math.round((Date.now() - startedAt) / 1000)} s: ${line}`)

say(`${kills} kills and ${requests} hostile requests, seed ${seed}`)
const [killed, attacked] = await Promise.all([siegeByKills({ kills, seed, log: say }), attack()])

const { findings: broken, ...did } = killed
console.log('\nkills:', did)
console.log('hostile requests:', { sent: attacked.sent, statuses: attacked.statuses })
for (const finding of broken) console.log(`FOUND after a kill: ${finding}`)
for (const finding of attacked.findings) console.log('FOUND by a request:', finding)
const found = broken.length + attacked.findings.length
console.log(
  `\n${found === 0 ? 'Nothing' : found} found in ${Math.round((Date.now() - startedAt) / 60_000)} minutes, seed ${seed}.`,
)
process.exitCode = found === 0 ? 0 : 1

async function attack(): Promise<HostileReport> {
  const server = await startChild('hostile-server.ts')
  const total: HostileReport = { sent: 0, statuses: {}, findings: [] }
  try {
    for (let slice = 0; total.sent < requests; slice++) {
      const count = Math.min(SLICE, requests - total.sent)
      const { sent, statuses, findings } = await sendHostileRequests({ baseUrl: server.url, count, seed: seed + slice })
      total.sent += sent
      for (const [status, times] of Object.entries(statuses))
        total.statuses[status] = (total.statuses[status] ?? 0) + times
      total.findings.push(...findings)
      if (total.sent % (SLICE * 5) === 0) say(`${total.sent} of ${requests} hostile requests, seed ${seed + slice}`)
      if (sent < count) break
    }
    return total
  } finally {
    await server.stop()
  }
}
