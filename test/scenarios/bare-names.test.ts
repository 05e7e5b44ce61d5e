/** Tools without a namespace in their names, if the operator enables that. */
import { type OperationDefinition, operation } from 'callplane'
import { expect, test } from 'vitest'
import { ask, askOlder } from './mcp.ts'
import { oxpClient } from './oxp.ts'
import { type Site, startSite } from './server.ts'

const getItem = operation('v1:orders.getItem', { run: () => 'v1' })
const newerItem = operation('v2:orders.getItem', { run: () => 'v2' })
const findUser = operation('v1:users.find', { run: () => 'a user' })
const ping = operation('v1:ping', { run: () => 'pong' })
const media = [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 10 }]

const toolNames = async (site: Site) => (await ask(site, 'tools/list')).json.result.tools.map(({ name }) => name)

const inMcp = async (site: Site, name: string) => {
  const { json } = await askOlder(site, 'tools/call', { name, arguments: {} })
  return json.result?.content[0].text ?? json.error.code
}

const post = async (site: Site, path: string, body: object) => {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  return (await (await site.request(path, init)).json()) as { output?: object; error?: { code: string } }
}

test('all tools of the application can have bare names, in every protocol that needs no namespace', async () => {
  const operations = [getItem, newerItem, findUser, ping]
  const site = await startSite({ operations, tools: { bareNames: true }, rest: { allowExecute: true } })

  expect(await toolNames(site)).toEqual(['find', 'getItem', 'ping'])
  expect(await inMcp(site, 'getItem')).toBe('v2')
  expect(await inMcp(site, 'getItem_v1')).toBe('v1')
  expect(await inMcp(site, 'orders_getItem')).toBe(-32602)
  const execute = '/tool-contract/v1/execute'
  expect((await post(site, execute, { request_id: 'r1', tool: { name: 'find' } })).output).toEqual({ result: 'a user' })
  expect((await site.request('/tools/ping')).status).toBe(200)
  expect(JSON.stringify(await post(site, '/tools/ping/call', {}))).toContain('pong')
  const { body } = await oxpClient(site.url).list('/tools')
  expect(JSON.stringify(body)).toContain('"orders.getItem@')
})

test('a list names those it is for, each with all its versions', async () => {
  const site = await startSite({
    operations: [getItem, newerItem, findUser, ping],
    tools: { bareNames: ['v1:orders.getItem'] },
  })

  expect(await toolNames(site)).toEqual(['callplane_ping', 'getItem', 'users_find'])
  expect(await inMcp(site, 'getItem_v2')).toBe('v2')
})

test('two that would have one name are refused at the start, with both in the message, files or not', async () => {
  const other = operation('v1:users.getItem', { run: () => 1 })
  const withFile = operation('v1:files.getItem', { media, run: () => 1 })
  const looksAlike = operation('v1:x.users_find', { run: () => 1 })
  const start = (...operations: OperationDefinition[]) => startSite({ operations, tools: { bareNames: true } })

  await expect(start(getItem, other)).rejects.toThrow(
    /v1:orders\.getItem and v1:users\.getItem would both be the tool "getItem".*let one keep its namespace/,
  )
  await expect(start(getItem, withFile)).rejects.toThrow(/v1:files\.getItem and v1:orders\.getItem .* "getItem"/)
  await expect(
    startSite({ operations: [findUser, looksAlike], tools: { bareNames: ['v1:x.users_find'] } }),
  ).rejects.toThrow(/v1:users\.find and v1:x\.users_find would both be the tool "users_find"/)
  await expect(start(operation('v1:phone.call', { run: () => 1 }))).rejects.toThrow(/cannot be the tool "call"/)
})

test('an unknown operation cannot have a bare name, and administration keeps its namespace', async () => {
  await expect(startSite({ operations: [ping], tools: { bareNames: ['v1:pong'] } })).rejects.toThrow(/"v1:pong"/)
  await expect(startSite({ operations: [ping], tools: { bareNames: 'all' as never } })).rejects.toThrow(
    /must be true or a/,
  )
  await expect(startSite({ operations: [ping], tools: { bare: true } as never })).rejects.toThrow(/no option "bare"/)
  const site = await startSite({ operations: [ping], tools: { bareNames: true }, mcp: { administration: true } })
  expect(await toolNames(site)).toContain('ping')
})
