/** A bare node:http server that sends the same bytes from memory for every request: the limit for a long list. */
import { createServer } from 'node:http'
import { HEADERS, parseObject } from './bare.ts'
import type { Contender } from './contender.ts'
import { readText } from './read-text.ts'
import { serve } from './serve.ts'

export const start: Contender = async ({ answerBytes = 0 }) => {
  const opening = '{"jsonrpc":"2.0","id":1,"result":"'
  const body = Buffer.from(`${opening}${'x'.repeat(Math.max(0, answerBytes - opening.length - 2))}"}`)
  const server = createServer((request, response) => {
    readText(request, (text) => {
      const status = parseObject(text) ? 200 : 400
      response.writeHead(status, { ...HEADERS, 'Content-Length': body.length }).end(body)
    })
  })
  return serve(server)
}
