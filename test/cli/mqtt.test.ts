/** `callplane serve --mqtt`: the login comes from the environment, and no handler or log sees the password. */
import { expect, test } from 'vitest'
import { parseServe } from '../../src/cli/serve/settings.ts'

test('the broker is named by the flag, and its login by the environment, which loses the password', () => {
  const env = { CALLPLANE_MQTT_USERNAME: 'node', CALLPLANE_MQTT_PASSWORD: 'secret' }

  const { mqtt } = parseServe({ args: ['--mqtt', 'mqtts://broker.example'], env }).over({
    mqtt: { url: 'mqtt://other', group: 'a' },
  })

  expect(mqtt).toEqual({ url: 'mqtts://broker.example', group: 'a', username: 'node', password: 'secret' })
  expect(env).toEqual({ CALLPLANE_MQTT_USERNAME: 'node' })
})

test('without a broker there is no MQTT', () => {
  expect(parseServe({ args: [], env: {} }).over({}).mqtt).toBeUndefined()
})

test('--mqtt-max-packet sets the largest packet, and needs a broker', () => {
  const over = (...args: string[]) => parseServe({ args, env: {} }).over({}).mqtt

  expect(over('--mqtt', 'mqtt://broker', '--mqtt-max-packet', '300000')).toEqual({
    url: 'mqtt://broker',
    maxPacketBytes: 300_000,
  })
  expect(() => over('--mqtt-max-packet', '300000')).toThrow('--mqtt-max-packet needs --mqtt')
  expect(() => over('--mqtt', 'mqtt://broker', '--mqtt-max-packet', 'much')).toThrow('--mqtt-max-packet')
})
