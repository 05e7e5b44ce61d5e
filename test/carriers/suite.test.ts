import { describe, expect, test } from 'vitest'
import { createFetchHandler } from '../../src/carriers/fetch/index.ts'
import { closeHttpServer, createHttpServer, createRequestListener, listen } from '../../src/carriers/http/index.ts'
import { describeCarrier } from '../../src/testing/suites/carrier/carrier.ts'

const runner = { describe, test, expect }

describeCarrier(runner, 'node:http', async (routes, options) => {
  const server = createHttpServer(createRequestListener(routes, options))
  const { url } = await listen(server, { host: '127.0.0.1', port: 0 })
  return { url, send: (path, init) => fetch(url + path, init), cleanup: () => closeHttpServer(server, 0) }
})

describeCarrier(runner, 'Fetch', async (routes, options) => {
  const handle = createFetchHandler(routes, options)
  const url = 'http://tools.example'
  return { url, send: (path, init) => handle(new Request(url + path, init)), cleanup: async () => {} }
})

describeCarrier(runner, 'Fetch below a prefix', async (routes, options) => {
  const handle = createFetchHandler(routes, { ...options, prefix: '/api' })
  const url = 'http://tools.example/api'
  return { url, send: (path, init) => handle(new Request(url + path, init)), cleanup: async () => {} }
})
