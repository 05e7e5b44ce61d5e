import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test, vi } from 'vitest'
import { generateOpenApi } from '../../src/codegen/openapi/openapi.ts'
import { readCatalogue } from '../../src/codegen/read-catalogue.ts'
import { describeOperations } from '../../src/server/create-server.ts'
import { type Site, startSite } from '../scenarios/server.ts'
import { operations } from './sample-operations.ts'

vi.setConfig({ testTimeout: 30_000 })

const document = (registry: unknown) =>
  generateOpenApi(readCatalogue(registry, { url: 'https://api.example.org' })).text
const sample = () => document(describeOperations(operations, 0, ['wss', 'mqtt']))

/** What a public linter and a public validator say. */
async function problemsIn(text: string): Promise<unknown[]> {
  // The license is that of the described server, which the registry does not name.
  const config = await createConfig({ extends: ['recommended-strict'], rules: { 'info-license': 'off' } })
  const found = await lintFromString({ source: text, absoluteRef: '/openapi.json', config })
  const { valid, errors } = await new Validator().validate(JSON.parse(text))
  return [
    ...found.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    ...(valid ? [] : [errors]),
  ]
}

test('a linter and a validator accept the document', async () => {
  expect(await problemsIn(sample())).toEqual([])
  expect(await problemsIn(document({ operations: [] }))).toEqual([])
})

test('they also accept the document of a hostile registry', async () => {
  const hostile = '*/ <script> {x} \n `'
  const text = document({
    operations: [
      {
        op: 'v1:a.b_c',
        description: hostile,
        argsSchema: { $ref: '#/$defs/a b', $defs: { 'a b': { $ref: '#' }, __proto__: {} } },
      },
      {
        op: 'v1:a_b.c',
        title: hostile,
        resultSchema: { items: { $ref: '#' } },
        errors: { [hostile]: { description: hostile } },
      },
      { op: 'v1:a-b.C', authScopes: [hostile], mediaSchema: [{ name: '__proto__', acceptedTypes: ['text/plain'] }] },
      { op: 'v1:call', executionModel: 'stream', frameSchema: false },
      { op: 'v1:get-call', resultSchema: { enum: Array.from({ length: 10_000 }, (_, at) => at) } },
      { op: 'v1:getCall', argsSchema: JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') },
    ],
  })

  expect(await problemsIn(text)).toEqual([])
  const ids = Object.values(JSON.parse(text).paths as object).flatMap((path) =>
    Object.values(path as object).flatMap((held) => held.operationId ?? []),
  )
  expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(ids.length)
})

test('each operation has a path, and the envelope knows all of them', () => {
  const { paths, components } = JSON.parse(sample())

  expect(paths['/ops/trees.plant/v1'].post).toMatchObject({
    operationId: 'treesPlantV1',
    tags: ['trees'],
    description: expect.stringContaining('- `NEGATIVE`: The sum is below 0. Use larger values.'),
    'x-opencall': { op: 'v1:trees.plant', executionModel: 'sync' },
  })
  expect(paths['/ops/jobs.build/v2'].post).toMatchObject({
    deprecated: true,
    parameters: [{ $ref: expect.stringContaining('RequiredKey') }, {}],
  })
  expect(paths['/ops/files.describe/v1'].post.requestBody.content['multipart/form-data']).toMatchObject({
    schema: { properties: { file: { type: 'string', format: 'binary' } } },
    encoding: { file: { contentType: 'text/plain, image/*' } },
  })
  expect(components.schemas.Call.discriminator.mapping).toMatchObject({
    'v1:trees.plant': '#/components/schemas/TreesPlantV1Call',
  })
  expect(components.schemas.TreesPlantV1Args.properties.children.items).toEqual({
    $ref: '#/components/schemas/TreesPlantV1Args',
  })
  expect(Object.keys(paths)).not.toContain('/ops/secrets.count/v1')
})

test('the responses of a server are those that its document describes', async () => {
  const site = await startSite({ operations })
  const text = await (await site.request('/openapi.json')).text()
  const check = checkerOf(JSON.parse(text))
  const call = (path: string, body: object, headers: Record<string, string> = {}) => post(site, path, body, headers)

  const seen = [
    check(
      '/ops/trees.plant/v1',
      'post',
      await call('/ops/trees.plant/v1', { args: { value: 1, children: [{ value: 2 }] } }),
    ),
    check('/ops/trees.plant/v1', 'post', await call('/ops/trees.plant/v1', { args: { value: -1 } })),
    check('/ops/trees.plant/v1', 'post', await call('/ops/trees.plant/v1', { args: {} })),
    check(
      '/ops/jobs.build/v2',
      'post',
      await call('/ops/jobs.build/v2', { args: { name: 'x' }, ctx: { requestId: 'r1' } }, { 'Idempotency-Key': 'k' }),
    ),
    check('/ops/rows.export/v1', 'post', await call('/ops/rows.export/v1', { ctx: { requestId: 'r2' } })),
    check('/ops/pictures.draw/v1', 'post', await call('/ops/pictures.draw/v1', {})),
    check('/ops/pictures.draw/v1', 'post', await call('/ops/pictures.draw/v1', {}, { Prefer: 'redirect' })),
    check('/ops/device.watch/v1', 'post', await call('/ops/device.watch/v1', {})),
    check('/call', 'post', await call('/call', { op: 'v1:trees.plant', args: { value: 1 } })),
    check('/ops/{requestId}', 'get', await followed(site, 'r1')),
    check('/ops/{requestId}', 'get', await followed(site, 'r2')),
    check('/ops/{requestId}', 'get', await followed(site, 'unknown')),
    check('/ops/{requestId}/chunks', 'get', await followed(site, 'r2/chunks')),
    check('/.well-known/ops', 'get', await site.request('/.well-known/ops')),
    check('/.well-known/errors', 'get', await site.request('/.well-known/errors')),
  ]

  expect(await Promise.all(seen)).toEqual([200, 200, 400, 202, 202, 202, 303, 202, 200, 200, 202, 404, 200, 200, 200])
})

function post(site: Site, path: string, body: object, headers: Record<string, string>): Promise<Response> {
  return site.request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

function followed(site: Site, place: string): Promise<Response> {
  return site.request(`/ops/${place}`, { headers: { Prefer: 'wait=20' } })
}

type Documented = Record<string, Record<string, { responses: Record<string, { $ref?: string }> }>>

/** Resolves with the status of a response, or rejects if the document does not describe it. */
function checkerOf(api: { paths: Documented; components: { responses: object } }) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).addSchema(api, 'api')
  return async (path: string, method: string, response: Response): Promise<number> => {
    const described = api.paths[path]?.[method]?.responses[response.status]
    const place =
      described?.$ref ??
      `#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${method}/responses/${response.status}`
    const validate = ajv.getSchema(`api${place}/content/application~1json/schema`)
    const body = await response.json()
    if (!validate?.(body)) throw new Error(`${path} ${response.status}: ${JSON.stringify([body, validate?.errors])}`)
    return response.status
  }
}
