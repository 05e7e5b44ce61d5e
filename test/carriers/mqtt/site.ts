/** A server on a real mosquitto, and callers that use mosquitto's own programs. */
import { createToken, type OperationDefinition, type ServerOptions } from 'callplane'
import { onTestFinished } from 'vitest'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { type Mosquitto, type MosquittoOptions, startMosquitto } from '../../engines/mosquitto.ts'
import { type MosquittoSub, mosquittoPub, mosquittoSub } from '../../engines/mosquitto-clients.ts'
import { type Site, startSite } from '../../scenarios/server.ts'

export interface MqttSite extends Site {
  broker: Mosquitto
}

const alice = createToken()
const bob = createToken()
export const TOKENS: NonNullable<ServerOptions['auth']>['tokens'] = [
  { kind: 'bearer', hash: alice.hash, subject: 'alice', scopes: ['*', 'callplane:metrics'] },
  { kind: 'bearer', hash: bob.hash, subject: 'bob', scopes: [] },
]

/** The credential of alice, who may do everything. */
export const AUTH = { iss: 'callplane', sub: 'alice', credentialType: 'bearer', credential: alice.token }
/** The credential of bob, who has no scopes. */
export const BOB = { ...AUTH, sub: 'bob', credential: bob.token }

export async function startBroker(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const broker = await startMosquitto(options)
  onTestFinished(() => broker[Symbol.asyncDispose]())
  return broker
}

export async function startMqttSite(
  operations: readonly OperationDefinition[],
  options: Partial<ServerOptions> = {},
  broker?: Mosquitto,
): Promise<MqttSite> {
  const at = broker ?? (await startBroker())
  const { mqtt, ...others } = options
  const site = await startSite({
    operations,
    auth: { tokens: TOKENS ?? [] },
    ...others,
    mqtt: { ...mqtt, url: mqtt?.url || at.url },
  })
  return { ...site, broker: at }
}

/** Subscribes with `mosquitto_sub` until the test ends. */
export async function listen(
  broker: Mosquitto,
  topic: string,
  version = 'mqttv5',
  args: readonly string[] = [],
): Promise<Listener> {
  const subscriber = await mosquittoSub(broker.port, ['-V', version, '-t', topic, '-q', '1', ...args])
  onTestFinished(() => subscriber[Symbol.asyncDispose]())
  return {
    ...subscriber,
    envelope: async () => JSON.parse((await subscriber.next()).payload),
    async until(state) {
      for (;;) {
        const envelope: ResponseEnvelope = JSON.parse((await subscriber.next()).payload)
        if (envelope.state === state) return envelope
        if (envelope.state === 'error') throw new Error(JSON.stringify(envelope))
      }
    },
  }
}

export interface Listener extends Pick<MosquittoSub, 'next'> {
  envelope(): Promise<ResponseEnvelope>
  /** The next envelope with this state. An error that was not expected is thrown. */
  until(state: ResponseEnvelope['state']): Promise<ResponseEnvelope>
}

export interface Request {
  op: string
  args?: object
  ctx?: object
  auth?: object | undefined
}

/** Publishes an envelope with `mosquitto_pub`, by default as alice at QoS 1. */
export async function request(broker: Mosquitto, envelope: Request, args: readonly string[] = []): Promise<void> {
  const message = JSON.stringify({ auth: AUTH, ...envelope })
  const topic = ['-t', `ops/${envelope.op}`]
  await mosquittoPub(broker.port, ['-V', 'mqttv5', ...topic, '-q', '1', '-m', message, ...args])
}
