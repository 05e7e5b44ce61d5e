/** `--from`: the tools that an OpenAPI document becomes, loaded by the real server and called against a real API. */
import { join } from 'node:path'
import { createClient } from 'callplane/client'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { RESERVED } from '../../create-callplane/src/openapi/parameters.ts'
import { RESERVED_HEADERS } from '../../src/backends/remote/settings.ts'
import { loadApplication } from '../../src/cli/serve/application.ts'
import { findModules } from '../../src/cli/serve/modules.ts'
import { openTool, type Respond } from '../backends/tool-server.ts'
import { startSite } from '../scenarios/server.ts'
import { FIXTURES, folderWith, make } from './make.ts'

type Tool = Record<string, unknown> & { operation: string; backend: { endpoint: string; request: object } }

async function toolsOf(fixture: string, ...options: string[]) {
  const made = await make(['tools', '--from', join(FIXTURES, fixture), ...options])
  expect(made.errors).toBe('')
  const files = made.list('tools/operations')
  const documents = files.flatMap((file) => parseAllDocuments(made.read(`tools/operations/${file}`)))
  const tools = new Map(documents.map((one) => one.toJS() as Tool).map((tool) => [tool.operation, tool]))
  return { made, files, tools }
}

test('the headers that no argument may set are those that the server reserves', () => {
  expect(new Set([...RESERVED, 'authorization'])).toEqual(RESERVED_HEADERS)
})

test('every operation of the pet shop is a tool, or is listed with the reason', async () => {
  const { made, files, tools } = await toolsOf('pet-shop.yaml')

  expect(files).toEqual(['orders.yaml', 'pets.yaml'])
  expect([...tools.keys()].sort()).toEqual(
    ['addPet', 'getPet', 'listPets', 'postOrders', 'removePet', 'replacePet'].map((name) => `v1:pet_shop.${name}`),
  )
  expect(made.read('tools/left-out.txt').trim().split('\n').sort()).toEqual([
    'GET /orders/{id}/notes: its key is sent in the query, and only headers can have credentials; its key is sent in the cookie, and only headers can have credentials',
    'GET /pets/{petId}/photo: it answers with "image/png"',
    'HEAD /pets/{petId}: tools are GET, POST, PUT, PATCH and DELETE',
    'PUT /pets/{petId}/photo: its body is "image/png"',
    'webhook petSold: the API calls it, and not its users',
  ])
  expect(made.output).toContain('6 tools from "The Pet Shop API"')
  expect(made.output).toContain('CALLPLANE_SECRET_PET_SHOP_KEY\n')
  expect(made.output).toContain('CALLPLANE_SECRET_PET_SHOP_MACHINE__CLIENT_ID\n')
  expect(made.output).toContain('HEAD /pets/{petId}: tools are GET')
})

test('a tool has the arguments, the rules and the credential of its operation', async () => {
  const { tools } = await toolsOf('pet-shop.yaml')

  expect(tools.get('v1:pet_shop.listPets')).toMatchObject({
    description: 'Lists the pets of the shop.',
    args: {
      additionalProperties: false,
      properties: {
        'page[size]': { minimum: 1, maximum: 100, description: 'Default: 20.' },
        'X-Trace': { type: 'string' },
      },
    },
    result: { type: 'array', items: { $ref: '#/$defs/Pet' } },
    capabilities: ['network.read'],
    backend: {
      endpoint: 'https://eu.pets.example/v2',
      request: { method: 'GET', path: '/pets', query: { status: 'status' }, headers: { 'X-Trace': 'X-Trace' } },
    },
    auth: { profile: 'api_key_header', secretRef: 'pet_shop-key', headerName: 'X-Api-Key' },
  })
  // The shop itself sets the id.
  expect(tools.get('v1:pet_shop.addPet')).toMatchObject({
    args: { required: ['body'], $defs: { Pet: { required: ['name'], properties: { parents: {} } } } },
    sideEffecting: true,
  })
  expect(tools.get('v1:pet_shop.addPet')).not.toHaveProperty('args.$defs.Pet.properties.id')
  expect(tools.get('v1:pet_shop.removePet')).toMatchObject({
    description: 'Deprecated.\n\nRemoves a pet.',
    idempotencyRequired: false,
    capabilities: ['network.write', 'external.side_effect'],
  })
  expect(tools.get('v1:pet_shop.getPet')).not.toHaveProperty('auth')
  expect(tools.get('v1:pet_shop.postOrders')).toMatchObject({
    backend: { request: { contentType: 'application/x-www-form-urlencoded' } },
    auth: {
      profile: 'oauth2_client_credentials',
      tokenURL: 'https://eu.pets.example/oauth/token',
      scopes: ['orders:write'],
    },
  })
})

test('every style of parameters has its place', async () => {
  const { made, tools } = await toolsOf('every-style.json')

  expect(tools.get('v1:every_style.paths')?.backend.request).toEqual({
    method: 'GET',
    path: '/simple/{a}/label/{.b}/matrix/{;c}/exploded/{d*}',
  })
  expect(tools.get('v1:every_style.queries')?.backend.request).toMatchObject({
    query: {
      form: 'form',
      joined: { arg: 'joined', explode: false },
      spaces: { arg: 'spaces', style: 'spaceDelimited' },
      pipes: { arg: 'pipes', style: 'pipeDelimited' },
      filter: { arg: 'filter', style: 'deepObject' },
      json: { arg: 'json', style: 'json' },
    },
  })
  expect(tools.get('v1:every_style.queries')).toHaveProperty('args.properties.optional.type', ['string', 'null'])
  expect(tools.get('v1:every_style.same')).toMatchObject({
    args: {
      required: ['id'],
    },
    backend: {
      request: {
        path: '/same/{id}',
        query: { id: 'query_id', body: 'body' },
        headers: { id: 'header_id' },
        body: 'request_body',
        contentType: 'application/merge-patch+json',
      },
    },
  })
  expect(made.output).toContain('PATCH /same/{id}: does not have the optional session')
  expect(made.read('tools/left-out.txt')).toBe('GET /cookies: the required parameter "session" is a cookie\n')
})

const shop: Respond = ({ method, path, body }, response) => {
  const pet = { id: '7', name: method === 'POST' ? JSON.parse(body).name : 'Rex' }
  response.setHeader('content-type', 'application/json')
  if (path.startsWith('/v9/pets?')) response.end(JSON.stringify([pet]))
  else if (path === '/v9/pets/none') response.writeHead(404).end('{"message":"no such pet"}')
  else response.end(JSON.stringify(pet))
}

test('the made tools call the API', async () => {
  const api = await openTool(shop)
  const document = join(FIXTURES, 'pet-shop.yaml')
  const more = ['--server', `${api.url}/v9`, '--namespace', 'pets', '--allow-private']
  const made = await make(['tools', '--from', document, ...more])
  const { operations } = await loadApplication(findModules(join(made.folder, 'tools/operations')))
  const secrets = [{ kind: 'env', prefix: 'CREATE_TEST_' }] as const
  process.env.CREATE_TEST_PETS_KEY = 'key-12345678'
  const { url } = await startSite({ operations, secrets })
  const client = createClient<Record<`v1:${string}`, { args: object; result: unknown }>>({ url })

  const listed = await client.call('v1:pets.listPets', { status: ['new', 'sold'], 'page[size]': 5, 'X-Trace': 't' })
  const added = await client.call('v1:pets.addPet', { body: { name: 'Lola' } })
  const failed = await client.call('v1:pets.getPet', { petId: 'none' }).catch((error: unknown) => error)
  const unknown = await client.call('v1:pets.getPet', { petId: '7', admin: true }).catch((error: unknown) => error)

  expect(listed).toEqual([{ id: '7', name: 'Rex' }])
  expect(added).toEqual({ id: '7', name: 'Lola' })
  expect(failed).toMatchObject({ details: { http_status: 404, response: '{"message":"no such pet"}' } })
  expect(unknown).toMatchObject({ code: 'VALIDATION_ERROR' })
  expect(api.asked).toMatchObject([
    {
      method: 'GET',
      path: '/v9/pets?status=new&status=sold&page%5Bsize%5D=5',
      headers: { 'x-trace': 't', 'x-api-key': 'key-12345678' },
    },
    { method: 'POST', path: '/v9/pets', body: '{"name":"Lola"}' },
    { method: 'GET', path: '/v9/pets/none' },
  ])
})

test('--no-results leaves responses unchecked', async () => {
  const { tools } = await toolsOf('pet-shop.yaml', '--no-results')

  expect([...tools.values()].filter((tool) => 'result' in tool)).toEqual([])
  expect(tools.size).toBe(6)
})

test('a document from a URL names its server relative to itself', async () => {
  const document = {
    openapi: '3.1.0',
    info: { title: 'Near' },
    servers: [{ url: '/api' }],
    paths: { '/a': { get: {} } },
  }
  const host = await openTool((_asked, response) => response.end(JSON.stringify(document)))

  const made = await make(['tools', '--from', `${host.url}/docs/openapi.json`], folderWith())

  expect(made.errors).toBe('')
  expect(made.read('tools/operations/tools.yaml')).toContain(`endpoint: ${host.url}/api\n`)
})
