/** The ways to read a stream in this runtime, in order of preference. */
import type { JsonObject } from '../../core/json.ts'
import { readEvents } from './events.ts'
import type { ReadFrames } from './reader.ts'
import { readSocket } from './socket.ts'
import { offerConnection } from './webrtc.ts'

export interface StreamWay {
  /** Added to the arguments of the call. docs/readings.md#r30. */
  readonly wish: JsonObject
  /** The session whose frames arrive, if the caller names none. */
  readonly sessionId?: string
  readonly read: ReadFrames
  close?(): void
}

/** Made anew for each subscription: an offer of WebRTC is for one connection. `sessionId` is the caller's own. */
export type StreamWays = (sessionId: string | undefined) => AsyncIterable<StreamWay>

export async function* waysOfThisRuntime(): AsyncGenerator<StreamWay> {
  yield { wish: { transport: ['wss', 'sse'], encoding: ['json', 'binary'] }, read: readOverHttp }
  if ('RTCPeerConnection' in globalThis) yield await offerConnection()
}

/** A proxy may not let a WebSocket pass. The same frames are at the same path as server-sent events. */
export function overHttp(read: ReadFrames): ReadFrames {
  return async (fetcher, reading) => {
    if (reading.place.transport === 'wss' && 'WebSocket' in globalThis) {
      const end = await read(fetcher, reading)
      if (!end.refused) return end
    }
    return readEvents(fetcher, reading)
  }
}

const readOverHttp = overHttp(readSocket)
