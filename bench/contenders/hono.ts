/** The same operation on Hono, with its own Node adapter. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { createAdd, HEADERS } from './add.ts'
import type { Contender } from './contender.ts'

export const start: Contender = async ({ validator }) => {
  const add = await createAdd(validator)
  const app = new Hono()
  app.post('/call', async (context) => {
    const { status, body } = add(await context.req.text())
    return context.body(body, status as ContentfulStatusCode, HEADERS)
  })
  const server = await new Promise<Server>((resolve) => {
    const made = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(made as Server))
  })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
