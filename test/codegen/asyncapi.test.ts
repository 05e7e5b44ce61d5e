import specs from '@asyncapi/specs'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { generateAsyncApi } from '../../src/codegen/asyncapi/asyncapi.ts'
import { readCatalogue } from '../../src/codegen/read-catalogue.ts'
import { frameTopics, responseTopic } from '../../src/protocols/opencall/topics.ts'
import { describeOperations } from '../../src/server/create-server.ts'
import { operations } from './sample-operations.ts'

const document = (registry: unknown) =>
  JSON.parse(generateAsyncApi(readCatalogue(registry, { url: 'https://api.example.org/v1' })).text)
const sample = (...transports: string[]) => document(describeOperations(operations, 0, transports))

/** What the schema of AsyncAPI 3.0 says, and the references that lead nowhere. */
function problemsIn(api: object): unknown[] {
  const validate = new Ajv({
    strict: false,
    allErrors: true,
    validateFormats: false,
    meta: false,
    validateSchema: false,
  }).compile(specs.schemas['3.0.0'] as object)
  const places = [...JSON.stringify(api).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path)
  const missing = places.filter(
    (path) => path.split('/').reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], api) === undefined,
  )
  return [...(validate(api) ? [] : (validate.errors ?? [])), ...missing]
}

test('the schema of AsyncAPI accepts the document', () => {
  expect(problemsIn(sample('wss', 'mqtt', 'kafka'))).toEqual([])
  expect(problemsIn(sample())).toEqual([])
  expect(problemsIn(document({ operations: [] }))).toEqual([])
  expect(
    problemsIn(
      document({
        operations: [
          { op: 'v1:a.b_c', description: '<x>' },
          { op: 'v1:a_b.c', argsSchema: { items: { $ref: '#' } } },
        ],
      }),
    ),
  ).toEqual([])
})

test('channels have the topics that the server uses', () => {
  const { channels, operations: held, servers } = sample('wss', 'mqtt', 'kafka')
  const addresses = Object.fromEntries(
    Object.entries<{ address: string }>(channels).map(([name, { address }]) => [name, address]),
  )
  const [topic] = frameTopics({ sessionId: 's', operation: 'v1:device.watch', requestId: 'r', id: 'i' })

  expect(addresses).toMatchObject({
    socket: '/call',
    socketFrames: '/streams/{streamId}',
    mqttTreesPlantV1: 'ops/v1:trees.plant',
    mqttResponses: responseTopic('r').replace('r', '{requestId}'),
    mqttDeviceWatchV1Frames: topic.replace('/s/', '/{sessionId}/'),
    kafkaCalls: 'callplane.ops',
    kafkaReplies: 'callplane.replies',
    kafkaFrames: 'callplane.frames',
  })
  expect(held.receiveMqttTreesPlantV1).toMatchObject({
    action: 'receive',
    reply: { channel: { $ref: '#/channels/mqttResponses' } },
  })
  expect(servers.http).toMatchObject({ host: 'api.example.org', protocol: 'wss', pathname: '/v1' })
})

test('a server whose streams name no broker has no channels of brokers', () => {
  const { channels, servers } = sample('wss')

  expect(Object.keys(channels)).toEqual(['socket', 'socketFrames'])
  expect(Object.keys(servers)).toEqual(['http'])
})
