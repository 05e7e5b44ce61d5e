/** A bare node:http server, hand-written for one operation: the limit that frameworks are compared with. */
import { createServer } from 'node:http'
import { createMcp } from './add-mcp.ts'
import { createOpenCall } from './add-opencall.ts'
import { createOxp } from './add-oxp.ts'
import { createRest } from './add-rest.ts'
import type { Contender } from './contender.ts'
import { readText } from './read-text.ts'
import { serve } from './serve.ts'

const ENVELOPES = { opencall: createOpenCall, oxp: createOxp, rest: createRest, mcp: createMcp }

export const start: Contender = async ({ validator, envelope = 'opencall' }) => {
  const { path, headers, answer } = await ENVELOPES[envelope](validator)
  const server = createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== path) {
      response.writeHead(404, { 'Content-Length': 0 }).end()
      return
    }
    readText(request, (text) => {
      const { status, body } = answer(text, request.headers)
      response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) }).end(body)
    })
  })
  return serve(server)
}
