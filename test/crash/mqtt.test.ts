/** Kills the server and the broker while requests arrive over MQTT, then checks the history. */
import mqtt from 'mqtt'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../cli/processes.ts'
import { describeWith, mqttBroker } from '../engines/engines.ts'
import { type Mosquitto, startMosquitto } from '../engines/mosquitto.ts'
import { CrashingServer } from './crashing-server.ts'
import { type ClientCall, problemsIn, type SeenState, type Sighting } from './history.ts'
import { readEffects } from './wishes.ts'

const ROUNDS = 6
const CALLS_A_ROUND = 40
const AUTH = { iss: 'test', sub: 'crash', credentialType: 'none' }

type Seen = ClientCall & { sightings: Sighting[] }

describeWith(mqttBroker, 'crashes with MQTT', () => {
  test('killed servers and brokers lose no request that the broker accepted, and double no effect', {
    timeout: 180_000,
  }, async () => {
    await using broker = await startMosquitto()
    const server = new CrashingServer(await temporaryFolder(), undefined, { CRASH_MQTT: broker.url })
    onTestFinished(() => server.kill())
    await server.start()
    const client = await connect(broker)
    const calls: Seen[] = []

    for (let round = 0; round < ROUNDS; round++) {
      const made = Array.from({ length: CALLS_A_ROUND }, (_, n) => callOf(round, n))
      calls.push(...made)
      const answers = client.answers(1 + ((round * 17) % 30))
      await Promise.all(made.map((call) => client.send(call)))
      await answers
      // Every second round also kills the broker. It has saved the requests when it has accepted another message.
      if (round % 2 === 1) {
        await client.publish('saved', '')
        await broker.kill()
      }
      await server.kill()
      if (round % 2 === 1) await broker.restart()
      await server.start()
    }
    const url = await server.address
    for (const call of calls) while (!(await look(url, call))) {}
    for (const call of calls) await look(url, call)

    // A caller who has only the broker learns every end, however its server ended.
    const silent = () => calls.filter(({ requestId }) => !client.ends.has(requestId)).map(({ requestId }) => requestId)
    await expect.poll(silent, { timeout: 60_000, interval: 500 }).toEqual([])
    for (const { requestId, sightings } of calls) {
      expect([requestId, ...(client.ends.get(requestId) ?? [])]).toEqual([requestId, sightings.at(-1)?.outcome])
      expect(['complete', 'error']).toContain(client.states.get(requestId))
    }
    const effects = await readEffects(server.effectsFile)
    expect(problemsIn({ calls, effects })).toEqual([])
    expect(calls.filter(({ sightings }) => sightings.some(({ state }) => state === 'missing'))).toEqual([])
    // The kills interrupted work.
    expect(effects.some(({ attempt }) => attempt > 1)).toBe(true)
  })
})

function callOf(round: number, n: number): Seen {
  const isCharge = n % 3 === 0
  return {
    requestId: `r${round}-${n}`,
    label: `${round}-${n}`,
    effect: isCharge ? 'once' : 'repeatable',
    mayFailWith: isCharge ? ['OUTCOME_UNKNOWN'] : ['PANIC_CUT_OFF'],
    sightings: [],
  }
}

async function connect(broker: Mosquitto) {
  const client = await mqtt.connectAsync(broker.url, {
    protocolVersion: 5,
    clientId: 'c',
    clean: false,
    reconnectPeriod: 50,
  })
  onTestFinished(() => client.endAsync(true))
  client.on('error', () => undefined)
  let heard = () => {}
  /** The ends of calls that were published, as the subscriber saw them. */
  const ends = new Map<string, Set<string>>()
  const states = new Map<string, string>()
  client.on('message', (_topic, payload) => {
    const { requestId, state, result, error } = JSON.parse(payload.toString())
    states.set(requestId, state)
    if (state === 'complete' || state === 'error') {
      const seen = ends.get(requestId) ?? new Set()
      ends.set(requestId, seen.add(state === 'error' ? error.code : JSON.stringify(result)))
    }
    heard()
  })
  await client.subscribeAsync('ops/+/response', { qos: 1 })
  const publish = (topic: string, message: string) => client.publishAsync(topic, message, { qos: 1 })
  return {
    publish,
    ends,
    states,
    send({ requestId, label, effect }: Seen) {
      const op = effect === 'once' ? 'v1:Crash.Charge' : 'v1:Crash.Work'
      const ctx = { requestId, ...(effect === 'once' && { idempotencyKey: label }) }
      return publish(`ops/${op}`, JSON.stringify({ op, args: { label, ms: 20 }, ctx, auth: AUTH }))
    },
    /** Resolves after this many responses. */
    answers(count: number) {
      let left = count
      return new Promise<void>((resolve) => {
        heard = () => {
          if (--left === 0) resolve()
        }
      })
    },
  }
}

/** True if the call has ended. A request may still wait at the broker, so a call that is not there is looked for again. */
async function look(url: string, call: Seen): Promise<boolean> {
  const response = await fetch(`${url}/ops/${call.requestId}`, { headers: { Prefer: 'wait=2' } })
  const { state, result, error } = (await response.json()) as {
    state: SeenState
    result?: unknown
    error?: { code: string }
  }
  if (response.status === 404 && call.sightings.length === 0) return false
  const outcome = state === 'error' ? error?.code : state === 'complete' ? JSON.stringify(result) : undefined
  call.sightings.push({ state: response.status === 404 ? 'missing' : state, ...(outcome !== undefined && { outcome }) })
  return response.status === 404 || outcome !== undefined
}
