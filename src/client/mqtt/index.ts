/** `callplane/client/mqtt`: calls and streams through an MQTT broker, from Node, with the package `mqtt`. */
import { createHttpTransport } from '../full-http.ts'
import { MessageTransport } from '../messages/message-transport.ts'
import type { HttpOptions } from '../options.ts'
import type { Transport } from '../transport.ts'
import { MqttBroker, type MqttBrokerOptions } from './broker.ts'

export interface MqttClientOptions extends MqttBrokerOptions {
  /** Sent with every call: the broker knows its clients, and the server does not. */
  token?: HttpOptions['token']
  /** The address of the server over HTTP, for files and for results that are larger than a message. */
  http?: Pick<HttpOptions, 'url' | 'token' | 'headers' | 'trustedOrigins' | 'fetch'>
}

export function mqttTransport(options: MqttClientOptions): Transport {
  const broker = new MqttBroker(options)
  return new MessageTransport({
    open: broker.open,
    prepareStream: (sessionId) => broker.listenToSession(sessionId),
    frameKey: ({ topic }) => String(topic),
    hasEarlyFrames: true,
    token: options.token,
    showsTokenAlways: true,
    expectsAnswers: false,
    endCanOvertake: false,
    http: options.http && createHttpTransport(options.http),
  })
}
