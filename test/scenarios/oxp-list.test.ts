/** `GET /tools` in the formats of OXP and OTC. */
import { operation, removed } from 'callplane'
import { expect, test } from 'vitest'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { expectSchema } from '../protocols/oxp/replies.ts'
import { oxpClient } from './oxp.ts'
import { createStepClock, startSite } from './server.ts'

test('every version of every tool is listed with its own id; removed tools and tools with a required attachment are not listed', async () => {
  const { url } = await startSite({ operations: Object.values(quickstart) })

  const { status, body } = await oxpClient(url).list()

  expect(status).toBe(200)
  const ids = body.items.map(({ id }: { id: string }) => id)
  expect(ids.filter((id: string) => id.startsWith('Text.'))).toEqual([
    'Text.Shout@1.0.0',
    'Text.Shout@1.2.0',
    'Text.Shout@2.0.0',
  ])
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).not.toContain('Files.Describe@1.0.0')
  expect(ids).not.toContain('Greeter.Hello@1.0.0')
  expect(body.items.find(({ id }: { id: string }) => id === 'Calculator.Add@1.0.0')).toEqual({
    id: 'Calculator.Add@1.0.0',
    name: 'Calculator_Add',
    description: 'Adds two numbers.',
    version: '1.0.0',
    input_schema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    output_schema: { type: 'number' },
  })
})

test('OTC has the list under "tools", the schema in "parameters" and a description of each of them', async () => {
  const { url } = await startSite({ operations: Object.values(quickstart) })
  const client = oxpClient(url)

  const byPath = await client.list('/otc/tools')
  const byKey = await client.list('/tools', { 'OTC-API-Key': 'whatever, nobody asks for one' })

  expect(byKey.text).toBe(byPath.text)
  expect(byPath.body.$schema).toBe('otc://1.0')
  for (const tool of byPath.body.tools) {
    for (const parameter of Object.values<{ description: string }>(tool.input_schema.parameters.properties ?? {})) {
      expect(parameter.description).toMatch(/./)
    }
  }
  const shout = byPath.body.tools.find(({ id }: { id: string }) => id === 'Text.Shout@1.2.0')
  expect(shout.input_schema.parameters.properties).toMatchObject({
    text: { description: 'What to say.' },
    marks: { description: 'marks' },
  })
})

test('a tool says what it requires, that it returns nothing, and where its bytes will be', async () => {
  const send = operation('v1:mail.send', {
    title: 'Send mail',
    result: { type: 'null' },
    requires: { authorization: [{ id: 'google', scopes: ['mail.send'] }], secrets: ['footer'], userId: true },
    run: () => null,
  })
  const plain = operation('v1:ping', { run: () => null })
  const { url } = await startSite({ operations: [send, plain, quickstart.exportOrders], toolkit: 'tower' })

  const { items } = (await oxpClient(url).list()).body

  expect(items).toMatchObject([
    { id: 'Orders.Export@1.0.0', output_schema: { required: ['uri'] } },
    {
      id: 'mail.send@1.0.0',
      description: 'Send mail',
      output_schema: null,
      requirements: {
        authorization: [{ id: 'google', oauth2: { scopes: ['mail.send'] } }],
        secrets: [{ id: 'footer' }],
        user_id: true,
      },
    },
    { id: 'tower.ping@1.0.0', name: 'tower_ping', description: 'tower_ping', output_schema: {} },
  ])
  expect('requirements' in items[2]).toBe(false)
})

test('a server without tools lists none, and one whose version is past its sunset lists it no more', async () => {
  const clock = createStepClock(Date.UTC(2026, 5, 1))
  const empty = await startSite({ operations: [removed('v1:a.b', { on: '2026-01-01' })] })
  const old = operation('v1:a.b', { deprecated: { sunset: '2026-06-01' }, run: () => 1 })
  const fresh = operation('v1:a.b', { version: '1.1.0', run: () => 2 })
  const aging = await startSite({ operations: [old, fresh], clock })
  const client = oxpClient(aging.url)

  const before = await client.list()
  clock.advance(86_400_000)
  const after = await client.list()

  expect((await oxpClient(empty.url).list()).body).toEqual({ items: [] })
  expect((await oxpClient(empty.url).list('/otc/tools')).body).toEqual({ $schema: 'otc://1.0', tools: [] })
  expect([before, after].map(({ body }) => body.items.length)).toEqual([2, 1])
})

test('no schema in the list has a reference, for any schema library', async () => {
  const tree = operation('v1:trees.plant', {
    args: {
      type: 'object',
      properties: { root: { $ref: '#/$defs/node', description: 'The root.' }, $ref: { type: 'string' } },
      $defs: {
        node: {
          type: 'object',
          required: ['name'],
          properties: { name: { $ref: '#/$defs/name' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
        },
        name: { type: 'string' },
      },
    },
    run: () => null,
  })
  const { url } = await startSite({ operations: [tree] })
  const client = oxpClient(url)

  const { items } = (await client.list()).body
  const deep = { root: { name: 'a', children: [{ name: 'b', children: [{ name: 3 }] }] } }
  const refused = await client.call('trees.plant', deep)

  expect(items[0].input_schema).toEqual({
    type: 'object',
    properties: {
      root: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, children: { type: 'array', items: {} } },
        description: 'The root.',
      },
      $ref: { type: 'string' },
    },
  })
  expect(refused).toMatchObject({
    status: 422,
    body: { parameter_errors: { 'root.children.0.children.0.name': 'Must be string' } },
  })
  expectSchema('flat', '/components/schemas/ToolDefinition', items[0])
})

test('an OXP version that is not supported is 400 on the list as well', async () => {
  const { url } = await startSite({ operations: [quickstart.add] })

  const response = await fetch(`${url}/tools`, { headers: { 'OXP-Version': '9.0' } })

  expect([response.status, await response.json()]).toMatchObject([400, { message: 'OXP-Version 9.0 is not supported' }])
})
