/**
 * The bare node:http server, started as `callplane serve` is: in one process, or in as many as the first argument says.
 * `node:cluster` distributes the connections round-robin.
 */
import cluster from 'node:cluster'
import { once } from 'node:events'
import { start } from './node-http.ts'

const count = Number(process.argv[2] ?? 0)

if (cluster.isPrimary && count > 0) {
  const workers = Array.from({ length: count }, () => cluster.fork())
  const ports = (await Promise.all(workers.map((worker) => once(worker, 'message')))) as [number][]
  say(ports[0]?.[0] as number)
} else {
  const { port } = await start({})
  if (process.send) process.send(port)
  else say(port)
}

function say(port: number): void {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
}
