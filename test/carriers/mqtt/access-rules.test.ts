/** The access rules in the documentation keep callers apart. */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonSchema, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { mosquittoPub } from '../../engines/mosquitto-clients.ts'
import { listen, request, startBroker, startMqttSite } from './site.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/adapters/carriers/mqtt.md'), 'utf8')
const USERS = { callplane: 'c-password', alice: 'a-password', eve: 'e-password' }
type User = keyof typeof USERS

const login = (user: User) => ['-u', user, '-P', USERS[user]]

const count = operation('v1:it.counts', {
  frame: jsonSchema<number>({ type: 'integer' }),
  async *run() {
    yield 1
  },
})

const answer = (user: User, n: number) => ['-D', 'publish', 'response-topic', `replies/${user}/${n}`, ...login(user)]

describeWith(mqttBroker, 'access rules of a broker', () => {
  test('a caller reads its own responses and frames, and nothing of other callers', async () => {
    const [, rules = ''] = /```\n(# acl_file[^`]+)```/.exec(PAGE) ?? []
    const folder = await mkdtemp(join(tmpdir(), 'callplane-acl-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'acl'), rules, { mode: 0o600 })
    const broker = await startBroker({ users: USERS, settings: [`acl_file ${join(folder, 'acl')}`] })
    const mqtt = { url: broker.url, username: 'callplane', password: USERS.callplane, responseTopics: ['replies/#'] }
    await startMqttSite([count, operation('v1:it.greets', { run: () => 'hello' })], { mqtt }, broker)
    const alice = await listen(broker, '#', 'mqttv5', login('alice'))
    const eve = await listen(broker, '#', 'mqttv5', login('eve'))

    const streamed = { op: 'v1:it.counts', ctx: { requestId: 'r1', sessionId: 'alice' } }
    await request(broker, streamed, answer('alice', 1))
    const seen = [await alice.next(), await alice.next(), await alice.next()]
    // A response that eve forges is not delivered.
    await mosquittoPub(broker.port, ['-t', 'replies/alice/1', '-m', 'forged', '-q', '1', ...login('eve')])
    await mosquittoPub(broker.port, ['-t', 'ops/r1/response', '-m', 'forged', '-q', '1', ...login('eve')])
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r2' } }, answer('eve', 1))
    const first = await eve.next()
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r3' } }, answer('alice', 2))
    const last = await alice.next()

    expect(rules).toContain('pattern')
    expect(new Set(seen.map(({ topic }) => topic))).toEqual(new Set(['replies/alice/1', 'streams/alice/v1:it.counts']))
    expect([first.topic, last.topic]).toEqual(['replies/eve/1', 'replies/alice/2'])
  })
})
