/** Calls through MQTT and Kafka. A request that the broker took must be run, and its end must be published. */
import { randomUUID } from 'node:crypto'
import mqtt from 'mqtt'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { envelopeIn, startPeer } from '../../carriers/kafka/peer.ts'
import { type ChaosCall, nowMs, type Via } from '../history.ts'
import { authOf, CALLERS, type Subject } from './callers.ts'
import { type Site, stateIn } from './site.ts'

export interface Brokers extends AsyncDisposable {
  /** Resolves when the broker has the request. */
  send(via: 'mqtt' | 'kafka'): Promise<ChaosCall>
}

export async function connectBrokers(site: Site, where: { mqtt?: string; kafka?: string }): Promise<Brokers> {
  const calls = new Map<string, ChaosCall>()
  const heard = (via: Via, body: ResponseEnvelope | undefined, sentMs: number) => {
    const call = calls.get(body?.requestId ?? '')
    if (call && body) site.history.saw(call, { ...stateIn(body), via, node: -1, sentMs, heardMs: nowMs() })
  }
  const client =
    where.mqtt === undefined
      ? undefined
      : await mqtt.connectAsync(where.mqtt, { protocolVersion: 5, clientId: 'chaos', clean: false })
  client?.on('error', () => undefined)
  client?.on('message', (_topic, payload) => heard('mqtt', JSON.parse(payload.toString()), 0))
  await client?.subscribeAsync('ops/+/response', { qos: 1 })
  const peer = where.kafka === undefined ? undefined : await startPeer(where.kafka, ['callplane.replies'])
  let read = 0
  // The peer calls it after every message.
  void peer?.until(() => {
    for (; read < peer.received.length; read++) heard('kafka', envelopeIn(peer.received[read]?.value as Buffer), 0)
    return false
  })

  return {
    async send(via) {
      const label = site.newLabel(via)
      const caller = CALLERS[site.random(CALLERS.length)] as Subject
      const isCharge = site.random(3) === 0
      const call = site.history.newCall({
        requestId: randomUUID(),
        label,
        kind: via,
        caller,
        effect: isCharge ? 'once' : 'repeatable',
        mayFailWith: isCharge ? ['OUTCOME_UNKNOWN'] : ['PANIC_CUT_OFF'],
      })
      calls.set(call.requestId, call)
      const op = isCharge ? 'v1:Chaos.Charge' : 'v1:Chaos.Work'
      const ctx = { requestId: call.requestId, ...(isCharge && { idempotencyKey: label }) }
      const args = { label, ms: site.random(100), fail: 'never' }
      const auth = authOf(caller)
      if (via === 'kafka') await peer?.call(op, args, ctx, { auth, key: label })
      else await client?.publishAsync(`ops/${op}`, JSON.stringify({ op, args, ctx, auth }), { qos: 1 })
      call.acknowledged = true
      return call
    },
    async [Symbol.asyncDispose]() {
      await client?.endAsync(true)
      await peer?.[Symbol.asyncDispose]()
    },
  }
}
