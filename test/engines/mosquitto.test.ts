import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { describeWith, mqttBroker } from './engines.ts'
import { startMosquitto } from './mosquitto.ts'
import { mosquittoPub, mosquittoSub } from './mosquitto-clients.ts'

describeWith(mqttBroker, 'mosquitto', () => {
  test.for(['mqttv5', 'mqttv311'])(
    'carries a message from its publisher to its subscriber with %s',
    async (version) => {
      await using broker = await startMosquitto()
      await using subscriber = await mosquittoSub(broker.port, ['-V', version, '-t', 'greetings/#', '-q', '1'])

      await mosquittoPub(broker.port, ['-V', version, '-t', 'greetings/world', '-m', 'hello', '-q', '1'])

      expect(await subscriber.next()).toMatchObject({ topic: 'greetings/world', payload: 'hello', qos: 1 })
    },
  )

  test('MQTT 5 properties reach the subscriber', async () => {
    await using broker = await startMosquitto()
    await using subscriber = await mosquittoSub(broker.port, ['-V', 'mqttv5', '-t', 'requests'])

    const property = ['-D', 'publish', 'response-topic', 'replies/1']
    await mosquittoPub(broker.port, ['-V', 'mqttv5', '-t', 'requests', '-m', '?', ...property])

    expect((await subscriber.next()).properties).toMatchObject({ 'response-topic': 'replies/1' })
  })

  test('users need their password, and others cannot connect', async () => {
    await using broker = await startMosquitto({ users: { device: 'right' } })
    const publish = (...credentials: string[]) => mosquittoPub(broker.port, ['-t', 'a', '-m', 'b', ...credentials])

    await publish('-u', 'device', '-P', 'right')
    await expect(publish('-u', 'device', '-P', 'wrong')).rejects.toThrow()
    await expect(publish()).rejects.toThrow()
  })

  test.for(['stop', 'kill'] as const)(
    'a message that waits for its subscriber survives a restart after %s',
    async (end) => {
      await using broker = await startMosquitto()
      const session = ['-i', 'reader', '-c', '-q', '1', '-t', 'tasks']
      // With -E the client leaves once the broker keeps its subscription.
      await promisify(execFile)('mosquitto_sub', ['-h', '127.0.0.1', '-p', String(broker.port), ...session, '-E'])
      await mosquittoPub(broker.port, ['-q', '1', '-t', 'tasks', '-m', 'do it'])
      // The reply to this message comes after the save that the message before it caused.
      await mosquittoPub(broker.port, ['-q', '1', '-t', 'other', '-m', 'later'])

      await broker[end]()
      await expect(mosquittoPub(broker.port, ['-t', 'tasks', '-m', 'lost'])).rejects.toThrow()
      await broker.restart()

      await using reader = await mosquittoSub(broker.port, session)
      expect(await reader.next()).toMatchObject({ topic: 'tasks', payload: 'do it' })
    },
  )

  test('its port closes when it is disposed', async () => {
    const broker = await startMosquitto()

    await broker[Symbol.asyncDispose]()

    await expect(mosquittoPub(broker.port, ['-t', 'a', '-m', 'b'])).rejects.toThrow()
  })
})
