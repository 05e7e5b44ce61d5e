/** Failures: the model gets the errors that it can correct, the application gets the others. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { operation } from 'callplane'
import { openTools } from 'callplane/agents'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startSite } from '../scenarios/server.ts'
import { getOrder, refundOrder, serve, WAYS } from './site.ts'

test.each(WAYS)('invalid arguments from a model produce a result that says how to correct them (%s)', async (way) => {
  const { sources } = await serve([getOrder, refundOrder])
  const { call } = await openTools(sources[way])
  const textOf = async (name: string, args: unknown) => {
    const { isError, text } = await call({ id: 'call_1', name, args })
    expect(isError).toBe(true)
    return text
  }
  expect(await textOf('order_get', {})).toBe('There is no tool "order_get". Did you mean orders_get?')
  expect(await textOf('launch', {})).toBe('There is no tool "launch". Available tools: orders_get, orders_refund.')
  expect(await textOf('orders_get', '{"id":')).toMatch(/^The arguments of orders_get are not JSON: .* Write one JSON/)
  expect(await textOf('orders_get', '["o1"]')).toMatch(/^The arguments of orders_get must be one JSON object/)
  expect(await textOf('orders_get', '')).toContain('id')
  expect(await textOf('orders_get', { id: 7 })).toContain('id')
})

test.each(WAYS)('a failure has its advice for the model, and nothing for developers (%s)', async (way) => {
  const { sources } = await serve([refundOrder])
  const { call } = await openTools(sources[way])
  const { isError, text } = await call({ id: 'call_1', name: 'orders_refund', args: { id: 'o1' } })
  expect(isError).toBe(true)
  expect(text).toContain('Tell the customer when.')
  expect(text).not.toContain('row 17')
})

test.each(WAYS)('the model is told if the caller lacks permission (%s)', async (way) => {
  const wipe = operation('v1:orders.wipe', { scopes: ['orders:write'], run: () => true })
  const { sources } = await serve([wipe])
  const { call } = await openTools(sources[way])
  const { isError, text } = await call({ id: 'call_1', name: 'orders_wipe', args: {} })
  expect(isError).toBe(true)
  expect(text).toContain('orders:write')
  expect(text).toContain('will not help')
})

test.each(WAYS)('an invalid token is reported to the application, not to the model (%s)', async (way) => {
  const { sources, token } = await serve([getOrder])
  const fault = { name: 'Fault', kind: 'unauthenticated' }
  await expect(openTools({ ...sources[way], token: 'wrong' })).rejects.toMatchObject(fault)
  await expect(openTools({ ...sources[way], token: 'two words' })).rejects.toMatchObject(fault)
  let current = token
  const { call } = await openTools({ ...sources[way], token: () => current })
  const wanted = { id: 'call_1', name: 'orders_get', args: { id: 'o1' } }
  expect(await call(wanted)).toMatchObject({ isError: false })
  current = 'expired'
  await expect(call(wanted)).rejects.toMatchObject(fault)
})

test('a lost server is a retryable failure, and a wrong address is a mistake of the application', async () => {
  const { site, sources } = await serve([getOrder])
  const { call } = await openTools(sources.url)
  await site.close()
  const { isError, text } = await call({ id: 'call_1', name: 'orders_get', args: { id: 'o1' } })
  expect(isError).toBe(true)
  expect(text).toBe(
    `The server of this tool, ${site.url}, cannot be reached.\nCalling again with the same arguments may help.`,
  )
  await expect(openTools(sources.url)).rejects.toMatchObject({ code: 'UNREACHABLE' })
  await expect(openTools({ url: 'example.com' })).rejects.toThrow('not the address of a server')
})

test('the message says that the address is not a server of this kind', async () => {
  const other = createServer((_request, response) => response.end('<h1>Hello</h1>'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  await expect(openTools({ url: `http://127.0.0.1:${port}` })).rejects.toMatchObject({ code: 'NOT_MCP' })
})

test('a redirect is not followed, because the token is for one address', async () => {
  const heard: string[] = []
  const other = createServer((request, response) => {
    heard.push(request.url ?? '')
    response.writeHead(307, { Location: '/elsewhere' }).end()
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  const opened = openTools({ url: `http://127.0.0.1:${port}`, token: 'secret' })
  await expect(opened).rejects.toMatchObject({
    code: 'REDIRECTED',
    message: expect.stringContaining('Set that address'),
  })
  expect(heard).toEqual(['/mcp'])
})

test('without authentication a server in this process accepts every caller, as it does on loopback', async () => {
  const add = operation('v1:math.add', {
    args: z.object({ a: z.number(), b: z.number() }),
    scopes: ['math'],
    run: ({ a, b }) => a + b,
  })
  const { server } = await startSite({ operations: [add] })
  const { call } = await openTools({ server })
  expect(await call({ id: 'call_1', name: 'math_add', args: { a: 1, b: 2 } })).toEqual({
    isError: false,
    text: '3',
    value: 3,
    files: [],
  })
})
