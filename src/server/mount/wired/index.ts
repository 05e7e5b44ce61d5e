/** Prepares the carriers that the options switch on. */
import type { Base } from '../../build/base.ts'
import type { ServerOptions } from '../../options/options.ts'
import { prepareKafka } from './kafka.ts'
import { prepareMqtt } from './mqtt.ts'
import { prepareWebRtc } from './webrtc.ts'
import { prepareWebSocket } from './websocket.ts'
import type { WiredCarrier } from './wired.ts'

export type { CarrierState, WiredCarrier, WiredParts } from './wired.ts'

/** `undefined` if the options leave it switched off. Libraries are loaded only if it is switched on. */
type Prepare = <App>(options: ServerOptions<App>, base: Base) => Promise<WiredCarrier | undefined>

/** In order of preference: the first that a stream can use is its transport, if the caller names none. */
const CARRIERS: readonly Prepare[] = [
  prepareWebSocket,
  async (options, base) => options.quic && (await import('./quic.ts')).prepareQuic(options.quic, options, base),
  prepareMqtt,
  prepareKafka,
  prepareWebRtc,
]

export async function prepareWired<App>(options: ServerOptions<App>, base: Base): Promise<readonly WiredCarrier[]> {
  const prepared = await Promise.all(CARRIERS.map((prepare) => prepare(options, base)))
  return prepared.filter((carrier) => carrier !== undefined)
}
