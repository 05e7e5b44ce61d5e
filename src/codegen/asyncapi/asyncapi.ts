/** `--asyncapi`: an AsyncAPI 3.0 document of calls and streams over WebSocket, MQTT and Kafka. */
import type { JsonObject } from '../../core/json.ts'
import type { Catalogue, CatalogueOperation } from '../catalogue.ts'
import { type Refer, sharedSchemas } from '../documents/envelopes.ts'
import { jsonText } from '../documents/json-text.ts'
import { OperationSchemas } from '../documents/operation-schemas.ts'
import { reachable } from '../documents/reachable.ts'
import { safeText } from '../documents/safe-text.ts'
import type { GeneratedFile } from '../target.ts'
import { type Described, kafkaParts, mqttParts, socketParts } from './channels.ts'

const SCHEMAS = '#/components/schemas/'
const refer: Refer = (name) => ({ $ref: `${SCHEMAS}${name}` })

export function generateAsyncApi(catalogue: Catalogue): GeneratedFile {
  return { path: 'asyncapi.json', text: jsonText(asyncApiDocument(catalogue)) }
}

function asyncApiDocument({ title, version, url, callVersion, operations }: Catalogue): JsonObject {
  const all = new OperationSchemas(sharedSchemas(refer), refer)
  const described = operations.map((operation) => ({ operation, names: all.add(operation) }))
  const carriers = carriersOf(operations)
  const parts = [
    socketParts(described),
    ...(carriers.mqtt ? [mqttParts(described)] : []),
    ...(carriers.kafka ? [kafkaParts(described)] : []),
  ]
  const channels = Object.assign({}, ...parts.map((part) => part.channels)) as JsonObject
  const messages = reachable(channels, messagesOf(described), '#/components/messages/')
  return {
    asyncapi: '3.0.0',
    info: {
      title,
      version,
      description: `Calls and streams of an OpenCALL server, revision ${callVersion}, as messages. Topics are the default ones.`,
    },
    defaultContentType: 'application/json',
    servers: serversOf(url, carriers),
    channels,
    operations: Object.assign({}, ...parts.map((part) => part.operations)) as JsonObject,
    components: {
      messages,
      schemas: reachable(messages, all.schemas, SCHEMAS),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}

interface CarriersOfServer {
  mqtt: boolean
  kafka: boolean
}

/** Only streams say which carriers a server has. Without streams, it may have any. */
function carriersOf(operations: readonly CatalogueOperation[]): CarriersOfServer {
  const known = operations.flatMap(({ stream }) => stream?.transports ?? [])
  const has = (name: string) => known.length === 0 || known.includes(name)
  return { mqtt: has('mqtt'), kafka: has('kafka') }
}

/** The registry does not say where brokers are. */
function serversOf(url: string | undefined, { mqtt, kafka }: CarriersOfServer): JsonObject {
  const { host, protocol, pathname } = new URL(url !== undefined && URL.canParse(url) ? url : 'http://127.0.0.1:4747')
  const broker = (name: string, port: number): JsonObject => ({
    host: '{broker}',
    protocol: name,
    variables: { broker: { default: `127.0.0.1:${port}`, description: 'The host and port of the broker.' } },
  })
  return {
    http: {
      host,
      protocol: protocol === 'https:' ? 'wss' : 'ws',
      ...(pathname !== '/' && { pathname }),
      security: [{ $ref: '#/components/securitySchemes/bearer' }],
    },
    ...(mqtt && { mqtt: broker('mqtt', 1883) }),
    ...(kafka && { kafka: broker('kafka', 9092) }),
  }
}

function messagesOf(described: readonly Described[]): Record<string, JsonObject> {
  const key = { bindings: { kafka: { key: { type: 'string' }, bindingVersion: '0.5.0' } } }
  return Object.fromEntries([
    ...described.map(({ operation, names }): [string, JsonObject] => [
      names.call,
      {
        name: names.call,
        title: operation.name,
        ...(operation.description !== undefined && { description: safeText(operation.description) }),
        correlationId: { location: '$message.payload#/ctx/requestId' },
        payload: refer(names.call),
        ...key,
      },
    ]),
    ...described.flatMap(({ operation: { name, stream }, names: { frame } }): [string, JsonObject][] =>
      stream && frame !== undefined
        ? [
            [
              frame,
              {
                name: frame,
                title: `A frame of ${name}`,
                description: frameText(stream),
                payload: refer(frame),
                ...key,
              },
            ],
          ]
        : [],
    ),
    [
      'Response',
      {
        name: 'Response',
        correlationId: { location: '$message.payload#/requestId' },
        payload: refer('Response'),
        ...key,
      },
    ],
    ['StreamEnd', { name: 'StreamEnd', payload: refer('StreamEnd'), ...key }],
  ])
}

function frameText({ encodings, integrity }: NonNullable<CatalogueOperation['stream']>): string {
  const header = integrity ? ' A header with a number and a checksum is before each frame.' : ''
  return `In the encoding that the caller chose: ${encodings.map(safeText).join(', ')}.${header}`
}
