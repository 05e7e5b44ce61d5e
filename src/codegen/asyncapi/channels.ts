/** The channels of each carrier, and what the server receives and sends on them. */
import type { JsonObject } from '../../core/json.ts'
import type { CatalogueOperation } from '../catalogue.ts'
import type { SchemaNames } from '../documents/operation-schemas.ts'
import { frameTopicOf, KAFKA_TOPICS, RESPONSE_TOPIC, requestTopicOf } from './addresses.ts'

export interface Described {
  operation: CatalogueOperation
  names: SchemaNames
}

/** Channels and operations of a document, by name. */
export interface Parts {
  channels: Record<string, JsonObject>
  operations: Record<string, JsonObject>
}

const QOS = { mqtt: { qos: 1, bindingVersion: '0.2.0' } }
const REQUEST_ID = { description: 'The id of the call.' }

/** One connection for all calls, and one for each stream. */
export function socketParts(all: readonly Described[]): Parts {
  const streams = readOver(all, 'wss')
  return {
    channels: {
      socket: channel('/call', 'http', [...all.map(callOf), 'Response'], {
        ws: { method: 'GET', bindingVersion: '0.1.0' },
      }),
      ...(streams.length > 0 && {
        socketFrames: {
          ...channel('/streams/{streamId}', 'http', [...streams.map(frameOf), 'StreamEnd']),
          parameters: { streamId: { description: 'Of the location of the stream.' } },
        },
      }),
    },
    operations: {
      receiveSocketCalls: receives('socket', all.map(callOf), 'socket'),
      ...(streams.length > 0 && { sendSocketFrames: sends('socketFrames', [...streams.map(frameOf), 'StreamEnd']) }),
    },
  }
}

/** A topic for the requests of each operation, and one for the responses to each call. */
export function mqttParts(all: readonly Described[]): Parts {
  const parts: Parts = {
    channels: {
      mqttResponses: { ...channel(RESPONSE_TOPIC, 'mqtt', ['Response']), parameters: { requestId: REQUEST_ID } },
    },
    operations: {},
  }
  for (const one of all) {
    const name = `mqtt${one.names.operation}`
    parts.channels[name] = channel(requestTopicOf(one.operation.name), 'mqtt', [callOf(one)])
    parts.operations[`receiveMqtt${one.names.operation}`] = {
      ...receives(name, [callOf(one)], 'mqttResponses'),
      bindings: QOS,
    }
  }
  for (const one of readOver(all, 'mqtt')) {
    const name = `mqtt${one.names.operation}Frames`
    parts.channels[name] = {
      ...channel(frameTopicOf(one.operation.name), 'mqtt', [frameOf(one), 'StreamEnd']),
      parameters: { sessionId: { description: 'Of the response to the call.' } },
    }
    parts.operations[`sendMqtt${one.names.operation}Frames`] = sends(name, [frameOf(one), 'StreamEnd'])
  }
  return parts
}

/** One topic for all requests, one for all responses, and one for all frames. */
export function kafkaParts(all: readonly Described[]): Parts {
  const streams = readOver(all, 'kafka')
  const topic = (name: string, messages: readonly string[]) =>
    channel(name, 'kafka', messages, { kafka: { topic: name, bindingVersion: '0.5.0' } })
  return {
    channels: {
      kafkaCalls: topic(KAFKA_TOPICS.operations, all.map(callOf)),
      kafkaReplies: topic(KAFKA_TOPICS.replies, ['Response']),
      ...(streams.length > 0 && { kafkaFrames: topic(KAFKA_TOPICS.frames, [...streams.map(frameOf), 'StreamEnd']) }),
    },
    operations: {
      receiveKafkaCalls: receives('kafkaCalls', all.map(callOf), 'kafkaReplies'),
      ...(streams.length > 0 && { sendKafkaFrames: sends('kafkaFrames', [...streams.map(frameOf), 'StreamEnd']) }),
    },
  }
}

/** The streams whose frames can be read over a transport. A registry may not say which transports there are. */
function readOver(all: readonly Described[], transport: string): readonly Described[] {
  return all.filter(
    ({ operation: { stream } }) => stream && (stream.transports.length === 0 || stream.transports.includes(transport)),
  )
}

function callOf({ names }: Described): string {
  return names.call
}

function frameOf({ names }: Described): string {
  return names.frame ?? ''
}

function channel(address: string, server: string, messages: readonly string[], bindings?: JsonObject): JsonObject {
  return {
    address,
    servers: [{ $ref: `#/servers/${server}` }],
    messages: Object.fromEntries(messages.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
    ...(bindings && { bindings }),
  }
}

function receives(on: string, messages: readonly string[], replyOn: string): JsonObject {
  return {
    action: 'receive',
    channel: { $ref: `#/channels/${on}` },
    messages: messagesOf(on, messages),
    reply: { channel: { $ref: `#/channels/${replyOn}` }, messages: messagesOf(replyOn, ['Response']) },
  }
}

function sends(on: string, messages: readonly string[]): JsonObject {
  return { action: 'send', channel: { $ref: `#/channels/${on}` }, messages: messagesOf(on, messages) }
}

function messagesOf(on: string, messages: readonly string[]): JsonObject[] {
  return messages.map((name) => ({ $ref: `#/channels/${on}/messages/${name}` }))
}
