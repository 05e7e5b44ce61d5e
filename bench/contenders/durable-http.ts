/**
 * Durable work over HTTP, from POST to the stored result: hand-written on node:http and SQLite, and Fastify with
 * BullMQ.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HEADERS } from './bare.ts'
import type { Contender, Serving } from './contender.ts'
import { createAddLater } from './durable-envelope.ts'
import { serve } from './serve.ts'

const SERVERS = {
  sqlite: serveBarely,
  bullmq: (_folder: string, port: number) => serveByFastify(port),
} satisfies Record<string, (folder: string, port: number) => Promise<Serving>>

export const start: Contender = async ({ durable, data = '' }) => {
  const { system, enginePort = 0 } = durable ?? {}
  if (system !== 'sqlite' && system !== 'bullmq') throw new Error(`There is no HTTP server for ${system} jobs.`)
  return SERVERS[system](data, enginePort)
}

async function serveBarely(folder: string): Promise<Serving> {
  const { openSqliteJobs } = await import('./durable-sqlite.ts')
  const jobs = await openSqliteJobs(folder)
  const addLater = await createAddLater(jobs.run)
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const { status, body } = await addLater(Buffer.concat(chunks).toString())
      response.writeHead(status, { ...HEADERS, 'Content-Length': Buffer.byteLength(body) }).end(body)
    })
  })
  const serving = await serve(server)
  return {
    ...serving,
    async close() {
      await serving.close()
      await jobs.close()
    },
  }
}

async function serveByFastify(port: number): Promise<Serving> {
  const { fastify } = await import('fastify')
  const { openBullmqJobs } = await import('./durable-bullmq.ts')
  const jobs = await openBullmqJobs(port, 'http')
  const addLater = await createAddLater(jobs.run)
  const app = fastify({ forceCloseConnections: true })
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => done(null, text))
  app.post('/call', async (request, reply) => {
    const { status, body } = await addLater(request.body as string)
    return reply.code(status).headers(HEADERS).send(body)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    port: (app.server.address() as AddressInfo).port,
    async close() {
      await app.close()
      await jobs.close()
    },
  }
}
