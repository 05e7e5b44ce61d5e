import { createServer } from 'callplane'
import { expect, test } from 'vitest'
import { matchesFilter } from '../../../src/carriers/mqtt/topic-filters.ts'

const url = 'mqtt://127.0.0.1'

test.each([
  [{ url: 'http://127.0.0.1' }, 'mqtt.url'],
  [{ url: 'nothing' }, 'mqtt.url'],
  [{ url, publicUrl: 'x' }, 'mqtt.publicUrl'],
  [{ url, group: 'a/b' }, 'mqtt.group'],
  [{ url, version: '4' as '5' }, 'mqtt.version'],
  [{ url, frameQos: 2 as 1 }, 'mqtt.frameQos'],
  [{ url, maxInFlight: 0 }, 'mqtt.maxInFlight'],
  [{ url, maxPacketBytes: 100 }, 'mqtt.maxPacketBytes'],
  [{ url, sessionExpirySeconds: -1 }, 'mqtt.sessionExpirySeconds'],
  [{ url, responseTopics: ['a/#/b'] }, '"a/#/b"'],
  [{ url, responseTopics: ['a+'] }, '"a+"'],
  [{ url, user: 'me' }, 'no option "user"'],
])('%j is refused', async (mqtt, named) => {
  await expect(createServer({ operations: [], mqtt })).rejects.toThrow(named)
})

test.each([
  ['a/+', 'a/b', true],
  ['a/+', 'a/b/c', false],
  ['a/+', 'a', false],
  ['a/#', 'a', true],
  ['a/#', 'a/b/c', true],
  ['#', '$SYS/x', false],
  ['+/x', '$SYS/x', false],
  ['a/b', 'a/b', true],
  ['a/b', 'a/c', false],
])('the filter %s and the topic %s: %s', (filter, topic, isMatch) => {
  expect(matchesFilter(filter, topic)).toBe(isMatch)
})
