/** Calls over HTTP whose frames come over WebRTC. */
import { onTestFinished } from 'vitest'
import { Reader } from '../../../carriers/webrtc/reader.ts'
import type { Site } from '../../server.ts'
import { type Answered, type Carrier, envelopeOf, type Reached } from './carrier.ts'

interface Offered {
  webrtc: { type: 'answer'; sdp: string; connection: string }
}

export const webrtcCarrier: Carrier = {
  prepare: () => ({ options: { webrtc: true }, reach }),
}

async function reach(site: Site): Promise<Reached> {
  const send: Reached['send'] = async ({ token }, { op, args, ctx }) => {
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    const { status, body } = await site.call(op, args, ctx, { headers })
    return { status, ...body } as Answered
  }
  const offer = await makeOffer()
  const way =
    (webrtc: unknown): Reached['ways'][string] =>
    ({ who, op, args }) =>
      send(who, envelopeOf({ op, args: { ...args, webrtc } }))
  return {
    send,
    ways: {
      'an offer': way(offer),
      'a bad offer': way({ type: 'offer', sdp: 'x' }),
      'no object': way(7),
      'a connection that does not exist': way({ connection: 'x' }),
    },
    async watch(who, { op, args, ctx = {} }) {
      const reader = new Reader()
      onTestFinished(() => reader.close())
      const { stream } = await send(who, { op, args: { ...args, webrtc: await reader.offer() }, ctx })
      await reader.connect((stream as unknown as Offered).webrtc)
      return { next: async () => JSON.parse(String(await reader.next())) }
    },
  }
}

async function makeOffer(): Promise<object> {
  const reader = new Reader()
  const offer = await reader.offer()
  await reader.close()
  return offer
}
