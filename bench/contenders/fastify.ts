/** The same operation on Fastify, with its logger off. */
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import { createAdd } from './add-opencall.ts'
import type { Contender } from './contender.ts'

export const start: Contender = async ({ validator }) => {
  const add = await createAdd(validator)
  // The default of node:http, so that the Keep-Alive header is the same.
  const app = fastify({ keepAliveTimeout: 5_000, forceCloseConnections: true })
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => done(null, text))
  app.post('/call', (request, reply) => {
    const { status, body } = add(request.body as string)
    reply.code(status).header('Content-Type', 'application/json').header('Cache-Control', 'no-store').send(body)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
}
