/**
 * The limit for calls over MQTT: a bare client that only echoes, on the library that our server uses. It has the same
 * kind of session, a shared subscription and QoS 1 both ways. The library acknowledges each message after its handler.
 */
import mqtt from 'mqtt'
import { mqttTopics, openEcho } from './brokers.ts'
import type { Contender } from './contender.ts'

export const start: Contender = async ({ data, broker }) => {
  if (data === undefined || !broker) throw new Error('Give this contender a data folder and a broker.')
  const { requests, response } = mqttTopics(broker)
  const echo = await openEcho(data)
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
    protocolVersion: 5,
    clientId: broker.prefix,
    clean: false,
    properties: { sessionExpiryInterval: 3_600, receiveMaximum: 1_000 },
  })
  client.on('message', (_topic, payload) => {
    echo.take(payload.toString(), (requestId, text) => client.publish(response(requestId), text, { qos: 1 }))
  })
  await client.subscribeAsync(`$share/echo/${requests}`, { qos: 1 })
  return {
    port: broker.port,
    async close() {
      await client.endAsync()
      echo.close()
    },
  }
}
