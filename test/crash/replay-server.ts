/** A server whose calls fail until it is mended, and which dies when a given number of replayed calls have started. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, Fault, operation } from 'callplane'

const [data = '', mended = 'no', deadlyStart = '0'] = process.argv.slice(2)
let started = 0

const pay = operation('v1:shop.pay', {
  model: 'async',
  sideEffecting: true,
  args: { type: 'object', properties: { n: { type: 'integer' } } },
  run: ({ n }, { key }) => {
    if (mended === 'no') throw new Fault('upstream', 'The bank is away.')
    appendFileSync(join(data, 'paid'), `${String(n)} ${key}\n`)
    if (++started === Number(deadlyStart)) process.kill(process.pid, 'SIGKILL')
    return { paid: true }
  },
})

const server = await createServer({ data, operations: [pay], work: { leaseMs: 1_000 } })
const { url } = await server.listen({ port: 0 })
process.stdout.write(`${url}\n`)
