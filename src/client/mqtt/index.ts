/** `callplane/client/mqtt`: calls and streams through an MQTT broker, from Node, with the package `mqtt`. */
import { type BrokerOptions, brokerParts } from '../messages/broker-options.ts'
import { MessageTransport } from '../messages/message-transport.ts'
import type { Transport } from '../transport.ts'
import { MqttBroker, type MqttBrokerOptions } from './broker.ts'

export interface MqttClientOptions extends MqttBrokerOptions, BrokerOptions {}

export function mqttTransport(options: MqttClientOptions): Transport {
  const broker = new MqttBroker(options)
  return new MessageTransport({
    ...brokerParts(options),
    open: broker.open,
    prepareStream: (sessionId) => broker.listenToSession(sessionId),
    frameKey: ({ topic }) => String(topic),
    endCanOvertake: false,
  })
}
