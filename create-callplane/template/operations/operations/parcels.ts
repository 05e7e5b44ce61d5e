/** A stream: every value that the generator yields is a frame. */
import { setTimeout as pause } from 'node:timers/promises'
import { operation } from 'callplane'
import { z } from 'zod'

const STATIONS = ['Warehouse', 'Ferry', 'Depot', 'Your door']

export const trackParcel = operation('v1:parcels.track', {
  description: 'The stations of a parcel, as it reaches them.',
  args: z.object({ orderId: z.string() }),
  frame: z.object({ station: z.string(), stationsLeft: z.int() }),
  capabilities: ['data.read'],
  async *run(_args, { signal }) {
    for (const [index, station] of STATIONS.entries()) {
      yield { station, stationsLeft: STATIONS.length - 1 - index }
      await pause(100, undefined, { signal })
    }
  },
})
