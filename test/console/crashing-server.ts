/** A server that dies in the middle of an attempt. The page's tests start it, and then one that finishes the call. */
import { createServer, hashToken } from 'callplane'
import { count } from './crashing-operation.ts'

const [data = '', token = ''] = process.argv.slice(2)
const server = await createServer({
  data,
  operations: [count(() => process.kill(process.pid, 'SIGKILL'))],
  work: { leaseMs: 1_000 },
  auth: { tokens: [{ hash: hashToken(token), kind: 'bearer', subject: 'operator', scopes: ['callplane:read'] }] },
})
const { url } = await server.listen({ port: 0 })
process.stdout.write(`${url}\n`)
