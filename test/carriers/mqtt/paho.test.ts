/** A client that is not ours, in another language: Python's paho. */
import { jsonSchema, operation } from 'callplane'
import { expect, test } from 'vitest'
import { describeWith, mqttBroker, pythonClients, together } from '../../engines/engines.ts'
import { python } from '../../engines/python.ts'
import { AUTH, startMqttSite } from './site.ts'

const add = operation('v1:sums.add', {
  args: jsonSchema<{ a: number; b: number }>({ type: 'object' }),
  run: ({ a, b }) => a + b,
})

const tick = operation('v1:clock.tick', {
  args: jsonSchema<{ count: number }>({ type: 'object' }),
  frame: jsonSchema<{ n: number }>({ type: 'object' }),
  async *run({ count }) {
    for (let n = 1; n <= count; n++) yield { n }
  },
})

describeWith(together(mqttBroker, pythonClients), 'paho', () => {
  test.each(['5', '3.1.1'])('calls and reads a stream over MQTT %s', async (version) => {
    const { broker } = await startMqttSite([add, tick], { mqtt: { url: '', responseTopics: ['replies/+'] } })

    const output = await python('test/carriers/mqtt/caller.py', [String(broker.port), version, JSON.stringify(AUTH)])
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

    const [sync] = lines
    expect(sync).toMatchObject(['ops/p1/response', { requestId: 'p1', result: 42 }, null])
    const addressed = lines.find(([topic]) => topic === 'replies/paho')
    if (version === '5') expect(addressed).toMatchObject(['replies/paho', { requestId: 'p2', result: 2 }, 'from-paho'])
    const frames = lines.filter(([topic]) => topic === 'streams/paho/v1:clock.tick').map(([, frame]) => frame)
    expect(frames).toEqual([{ n: 1 }, { n: 2 }])
    expect(lines.at(-1)).toMatchObject([
      'ops/p3/response',
      { state: 'complete', result: { frames: 2, ended: 'done' } },
      null,
    ])
  })
})
