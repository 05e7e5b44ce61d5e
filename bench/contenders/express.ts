/** The same operation on Express with its own body parser, and without features that an API does not need. */
import { createServer } from 'node:http'
import express from 'express'
import { createAdd } from './add-opencall.ts'
import { HEADERS } from './bare.ts'
import type { Contender } from './contender.ts'
import { serve } from './serve.ts'

export const start: Contender = async ({ validator }) => {
  const add = await createAdd(validator)
  const app = express().disable('x-powered-by').disable('etag')
  app.post('/call', express.text({ type: 'application/json', limit: '1mb' }), (request, response) => {
    const { status, body } = add(request.body as string)
    // `end` instead of `send`, because `send` checks the type and freshness of every response again.
    response.writeHead(status, { ...HEADERS, 'Content-Length': Buffer.byteLength(body) }).end(body)
  })
  return serve(createServer(app))
}
