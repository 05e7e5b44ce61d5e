/** Brokers that are away, restart or refuse; several nodes; and messages that no client should send. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { operation } from 'callplane'
import { generateKeyPair, SignJWT } from 'jose'
import mqtt from 'mqtt'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { createMemoryLog, type LogLine } from '../../../src/testing/fakes/memory-log.ts'
import { describeWith, mqttBroker } from '../../engines/engines.ts'
import { freePort } from '../../engines/free-port.ts'
import type { Mosquitto } from '../../engines/mosquitto.ts'
import { mosquittoPub, mosquittoSub } from '../../engines/mosquitto-clients.ts'
import { verifies } from '../../requirements.ts'
import { createGate } from '../../scenarios/server.ts'
import { AUTH, listen, type MqttSite, request, startBroker, startMqttSite, TOKENS } from './site.ts'

const hello = operation('v1:it.greets', { run: () => 'hello' })

interface Carriers {
  carriers: { mqtt: { connected: boolean; detail?: string } }
}

async function stateOf(site: MqttSite): Promise<Carriers['carriers']['mqtt']> {
  return ((await (await site.request('/ready')).json()) as Carriers).carriers.mqtt
}

const until = (site: MqttSite, connected: boolean) =>
  vi.waitUntil(async () => (await stateOf(site)).connected === connected, { timeout: 20_000, interval: 20 })

async function connect(broker: Mosquitto): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(broker.url, { protocolVersion: 5 })
  onTestFinished(() => client.endAsync(true))
  return client
}

describeWith(mqttBroker, 'MQTT when things go wrong', () => {
  test('a failure of the broker changes no call, and a failure of the operation is its own', async () => {
    verifies('opencall:316')
    const gate = createGate()
    const slow = operation('v1:it.waits', { model: 'async', run: () => gate.pass() })
    const refuse = operation('v1:it.refuses', { run: (_, ctx) => ctx.fail('SOLD_OUT', 'Nothing is left.') })
    const write = operation('v1:it.writes', { ttlSeconds: 60, run: () => 'x'.repeat(250_000) })
    const broker = await startBroker({ settings: ['max_packet_size 200000'] })
    const site = await startMqttSite([slow, refuse, write], {}, broker)
    const headers = { authorization: `Bearer ${AUTH.credential}` }
    const session = ['-V', 'mqttv311', '-c', '-i', 'caller', '-q', '1', '-t', 'ops/+/response']
    const before = await mosquittoSub(broker.port, session)
    await request(broker, { op: 'v1:it.waits', ctx: { requestId: 'r1' } })
    await gate.began
    await before[Symbol.asyncDispose]()
    await mosquittoPub(broker.port, ['-t', 'saved', '-m', '', '-q', '1'])

    await broker.kill()
    await until(site, false)
    const whileAway = (await (await site.request('/ops/r1', { headers })).json()) as ResponseEnvelope
    await broker.restart()
    await until(site, true)
    gate.open('done at last')
    await using after = await mosquittoSub(broker.port, session)
    const told: ResponseEnvelope[] = []
    const hear = async (requestId: string) => {
      for (;;) {
        const envelope: ResponseEnvelope = JSON.parse((await after.next()).payload)
        told.push(envelope)
        if (envelope.requestId === requestId && /complete|error/.test(envelope.state)) return envelope
      }
    }
    const ended = await hear('r1')
    await request(broker, { op: 'v1:it.refuses', ctx: { requestId: 'r2' } })
    const domain = await hear('r2')
    await request(broker, { op: 'v1:it.writes', ctx: { requestId: 'r3' } })
    const unpublished = await hear('r3')
    const stored = (await (await site.request('/ops/r3', { headers })).json()) as ResponseEnvelope

    expect(whileAway).toMatchObject({ state: 'pending' })
    expect(ended).toMatchObject({ state: 'complete', result: 'done at last' })
    expect(told.filter(({ requestId, state }) => requestId === 'r1' && state === 'error')).toEqual([])
    expect(domain).toMatchObject({ state: 'error', error: { code: 'SOLD_OUT' } })
    expect(await stateOf(site)).toMatchObject({ connected: true })
    // The response could not be published. The call itself is complete.
    expect(unpublished).toMatchObject({ state: 'error', error: { code: 'PANIC_RESPONSE_TOO_LARGE' } })
    expect(stored).toMatchObject({ state: 'complete' })
  })

  test('a broker that is killed and starts again gets the states that it missed, and further calls', async () => {
    const gate = createGate()
    const slow = operation('v1:it.waits', { model: 'async', run: () => gate.pass() })
    const site = await startMqttSite([slow, hello])
    const { broker } = site
    // The broker keeps the messages of this caller.
    const session = ['-V', 'mqttv311', '-c', '-i', 'caller', '-q', '1', '-t', 'ops/+/response']
    const before = await mosquittoSub(broker.port, session)
    await request(broker, { op: 'v1:it.waits', ctx: { requestId: 'r1' } })
    await before.next()
    await gate.began
    await before[Symbol.asyncDispose]()
    // The broker has saved everything when it has accepted another message.
    await mosquittoPub(broker.port, ['-t', 'saved', '-m', '', '-q', '1'])

    await broker.kill()
    await until(site, false)
    const headers = { authorization: `Bearer ${AUTH.credential}` }
    const metrics = await (await site.request('/metrics', { headers })).text()
    gate.open('done at last')
    await site.ended('r1', headers)
    await broker.restart()
    await until(site, true)
    await using after = await mosquittoSub(broker.port, session)

    expect(metrics).toContain('callplane_mqtt_connected 0')
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r2' } })
    const results = new Set<unknown>()
    while (!results.has('hello') || !results.has('done at last'))
      results.add(JSON.parse((await after.next()).payload).result)
  })

  test('a server starts without its broker, and connects when the broker is there', async () => {
    const broker = await startBroker()
    await broker.kill()
    const site = await startMqttSite([hello], {}, broker)

    expect(await stateOf(site)).toMatchObject({ connected: false, detail: expect.stringContaining('ECONNREFUSED') })
    await broker.restart()
    await until(site, true)
    const responses = await listen(broker, 'ops/r1/response')
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r1' } })
    expect(await responses.envelope()).toMatchObject({ result: 'hello' })
  })

  test('a refused password is named, and no password is logged', async () => {
    const lines: LogLine[] = []
    const broker = await startBroker({ users: { server: 'the right password' } })
    const mqttOf = (password: string) => ({ url: broker.url, username: 'server', password })
    const log = createMemoryLog(lines)
    const wrong = await startMqttSite([hello], { mqtt: mqttOf('the wrong password'), log }, broker)
    const right = await startMqttSite([hello], { mqtt: mqttOf('the right password'), log }, broker)

    expect(await stateOf(wrong)).toMatchObject({ connected: false, detail: expect.stringContaining('Not authorized') })
    expect(await stateOf(right)).toEqual({ connected: true })
    expect(lines.length).toBeGreaterThan(0)
    expect(JSON.stringify(lines)).not.toContain('password')
  })

  test('a broker that refuses the subscription is named', async () => {
    // mosquitto accepts every subscription. This one refuses: it answers CONNECT and SUBSCRIBE of MQTT 3.1.1.
    const refusing = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (packet) => {
          if (packet.readUInt8(0) === 0x10) socket.write(Buffer.of(0x20, 2, 0, 0))
          if (packet.readUInt8(0) === 0x82)
            socket.write(Buffer.of(0x90, 3, packet.readUInt8(2), packet.readUInt8(3), 0x80))
        })
    }).listen(0, '127.0.0.1')
    await once(refusing, 'listening')
    onTestFinished(() => void refusing.close())
    const url = `mqtt://127.0.0.1:${(refusing.address() as AddressInfo).port}`

    const site = await startMqttSite([hello], { mqtt: { url, version: '3.1.1' } })

    expect(await stateOf(site)).toMatchObject({ connected: false, detail: expect.stringContaining('access rules') })
  })

  test('messages that arrive while the server is away are processed at its next start', async () => {
    const broker = await startBroker()
    const first = await startMqttSite([hello], {}, broker)
    await first.close()
    const responses = await listen(broker, 'ops/r1/response')
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r1' } })

    await startMqttSite([hello], { data: first.data }, broker)

    expect(await responses.envelope()).toMatchObject({ requestId: 'r1', result: 'hello' })
  })

  test('nodes of a group share the calls, and each call runs once', async () => {
    const broker = await startBroker()
    const ran: [node: string, n: number][] = []
    const node = (name: string) =>
      startMqttSite(
        [operation('v1:it.counts', { run: (args) => void ran.push([name, (args as { n: number }).n]) })],
        {},
        broker,
      )
    await Promise.all([node('a'), node('b')])
    const client = await connect(broker)
    const answered = new Set<string>()
    const all = Promise.withResolvers<void>()
    client.on('message', (topic) => {
      if (answered.add(topic).size === 40) all.resolve()
    })
    await client.subscribeAsync('ops/+/response', { qos: 1 })

    const ask = (n: number) => ({ op: 'v1:it.counts', args: { n }, ctx: { requestId: `r${n}` }, auth: AUTH })
    const numbers = Array.from({ length: 40 }, (_, n) => n)
    await Promise.all(numbers.map((n) => client.publishAsync('ops/v1:it.counts', JSON.stringify(ask(n)), { qos: 1 })))
    await all.promise

    expect(ran.map(([, n]) => n).sort((a, b) => a - b)).toEqual(numbers)
    expect(new Set(ran.map(([name]) => name))).toEqual(new Set(['a', 'b']))
  })

  test('a request that arrives twice runs once, and both are answered with its outcome', async () => {
    let runs = 0
    const charge = operation('v1:it.charges', { sideEffecting: true, ttlSeconds: 60, run: () => ++runs })
    const { broker } = await startMqttSite([charge])
    const responses = await listen(broker, 'ops/r1/response')
    const envelope = { op: 'v1:it.charges', ctx: { requestId: 'r1', idempotencyKey: 'k1' } }

    await Promise.all([request(broker, envelope), request(broker, envelope)])

    expect([(await responses.until('complete')).result, (await responses.until('complete')).result]).toEqual([1, 1])
  })

  test('garbage is answered where it names a response topic, and acknowledged, and the next call is served', async () => {
    const site = await startMqttSite([hello])
    const { broker } = site
    const responses = await listen(broker, 'ops/+/response')
    const client = await connect(broker)
    const properties = { responseTopic: 'ops/garbage/response' }
    const garbage = [
      '',
      '{',
      'null',
      '[]',
      '{"op":7}',
      '{"op":"v1:it.greets","op":"v1:it.greets"}',
      '['.repeat(100_000),
      Buffer.from([0xff, 0xfe, 0, 0x80]),
      `{"op":"v1:it.greets","ctx":{"requestId":"${'x'.repeat(1_000)}"}}`,
      `{"op":"v1:it.greets","args":"${'x'.repeat(1_100_000)}"}`,
    ]

    for (const payload of garbage) await client.publishAsync('ops/v1:it.greets', payload, { qos: 1, properties })
    const answers = await Promise.all(garbage.map(() => responses.envelope()))
    expect(answers.map(({ state }) => state)).toEqual(garbage.map(() => 'error'))
    expect(answers.map(({ error }) => error?.code)).toContain('BODY_TOO_LARGE')
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r1' } })
    expect(await responses.envelope()).toMatchObject({ requestId: 'r1', result: 'hello' })
    // All were acknowledged: after a restart nothing comes again.
    await site.close()
    const again = await startMqttSite([hello], { data: site.data }, broker)
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r2' } })
    expect(await responses.envelope()).toMatchObject({ requestId: 'r2' })
    await again.close()
  })

  test.each(['5', '3.1.1'] as const)('an envelope of 100 MB over MQTT %s does no harm', async (version) => {
    const broker = await startBroker({ settings: ['persistence false'] })
    await startMqttSite([hello], { mqtt: { url: broker.url, version } }, broker)
    const responses = await listen(broker, 'ops/+/response')
    const client = await connect(broker)

    await client.publishAsync('ops/v1:it.greets', Buffer.alloc(100 * 1024 * 1024, 'x'), { qos: 1 })
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r1' } })

    // An MQTT 5 broker keeps it from the server. Otherwise the server drops it: nothing says where a response goes.
    expect(await responses.envelope()).toMatchObject({ requestId: 'r1', result: 'hello' })
  })

  test('a response that is too large for the broker is replaced by an error', async () => {
    const large = operation('v1:it.swells', { run: () => 'x'.repeat(400_000) })
    const broker = await startBroker({ settings: ['max_packet_size 300000'] })
    await startMqttSite([large, hello], {}, broker)
    const responses = await listen(broker, 'ops/+/response')

    await request(broker, { op: 'v1:it.swells', ctx: { requestId: 'r1' } })
    expect(await responses.envelope()).toMatchObject({ requestId: 'r1', error: { code: 'PANIC_RESPONSE_TOO_LARGE' } })
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r2' } })
    expect(await responses.envelope()).toMatchObject({ requestId: 'r2', result: 'hello' })
  })

  test('without authentication only a broker on this machine is used', async () => {
    const site = startMqttSite([hello], { auth: {}, mqtt: { url: `mqtt://192.0.2.1:${await freePort()}` } })
    await expect(site).rejects.toThrow('loopback')
  })

  test('tokens that cannot be checked now are answered, and do not keep other calls from the server', async () => {
    const broker = await startBroker()
    const key = { jwksUrl: `http://127.0.0.1:${await freePort()}/keys` }
    const jwt = [{ issuer: 'https://login.example', audience: 'callplane', key }]
    await startMqttSite([hello], { auth: { tokens: TOKENS ?? [], jwt } }, broker)
    const responses = await listen(broker, 'ops/+/response')
    const { privateKey } = await generateKeyPair('ES256')
    const credential = await new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: 'unknown' })
      .setIssuer('https://login.example')
      .setAudience('callplane')
      .setSubject('carol')
      .setExpirationTime('5m')
      .sign(privateKey)
    // mosquitto sends 20 messages before it waits for an acknowledgement.
    for (let n = 0; n < 25; n++) {
      const auth = { ...AUTH, iss: 'https://login.example', sub: 'carol', credential }
      await request(broker, { op: 'v1:it.greets', auth, ctx: { requestId: `c${n}` } })
    }
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r1' } })

    const codes = new Map<string, unknown>()
    while (!codes.has('r1') || codes.size < 26) {
      const { requestId, error, result } = await responses.envelope()
      codes.set(requestId, error?.code ?? result)
    }
    expect(codes.get('r1')).toBe('hello')
    expect(String(codes.get('c24'))).toContain('AUTH_KEYS_UNAVAILABLE')
  })

  test('at QoS 0 a flood beyond the limit is dropped, and the server goes on', async () => {
    const gate = createGate()
    const slow = operation('v1:it.waits', { run: () => gate.pass() })
    const { broker } = await startMqttSite([slow, hello], { mqtt: { url: '', maxInFlight: 10 } })
    const responses = await listen(broker, 'ops/r1/response')
    const client = await connect(broker)
    const flood = JSON.stringify({ op: 'v1:it.waits', ctx: { requestId: 'flood' }, auth: AUTH })

    for (let n = 0; n < 500; n++) await client.publishAsync('ops/v1:it.waits', flood, { qos: 0 })
    gate.open('late')
    await mosquittoPub(broker.port, ['-t', 'ops/none', '-m', '{}', '-q', '1'])
    await request(broker, { op: 'v1:it.greets', ctx: { requestId: 'r1' } })

    expect(await responses.envelope()).toMatchObject({ result: 'hello' })
  })
})
