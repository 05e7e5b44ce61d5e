/** The same operation on Hono, with its own Node adapter. */
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { createAdd } from './add-opencall.ts'
import { HEADERS } from './bare.ts'
import type { Contender } from './contender.ts'
import { serve } from './serve.ts'

export const start: Contender = async ({ validator }) => {
  const add = await createAdd(validator)
  const app = new Hono()
  app.post('/call', async (context) => {
    const { status, body } = add(await context.req.text())
    return context.body(body, status as ContentfulStatusCode, HEADERS)
  })
  return serve(createAdaptorServer({ fetch: app.fetch }) as Server)
}
