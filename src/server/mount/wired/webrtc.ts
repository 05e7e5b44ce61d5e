/** Streams over WebRTC, if `webrtc` is set. */
import { Fault } from '../../../core/fault.ts'
import type { NewStream } from '../../../core/ports/frames.ts'
import { encodeStreamEnd } from '../../../protocols/opencall/index.ts'
import type { ServerOptions } from '../../options/options.ts'
import type { WiredCarrier } from './wired.ts'

const MAX_CONNECTIONS = 1_000

export async function prepareWebRtc<App>(options: ServerOptions<App>): Promise<WiredCarrier | undefined> {
  if (!options.webrtc) return undefined
  const settings = { maxConnections: MAX_CONNECTIONS, ...(options.webrtc === true ? {} : options.webrtc) }
  const { loadWerift, TRANSPORT, WebRtcCarrier } = await import('../../../carriers/webrtc/index.ts')
  const library = await loadWerift()
  let carrier: InstanceType<typeof WebRtcCarrier> | undefined
  return {
    name: TRANSPORT,
    transport: {
      name: TRANSPORT,
      tracks: true,
      async place(stream: NewStream) {
        if (!carrier) throw new Fault('unavailable', 'The server is starting. Try again in a moment.')
        return carrier.place(stream)
      },
    },
    open({ env, origin }) {
      carrier = new WebRtcCarrier({ ...settings, library, env, origin, encodeEnd: encodeStreamEnd })
      return carrier
    },
    state: () => ({ connected: true, detail: `${carrier?.connections ?? 0} connections` }),
  }
}
