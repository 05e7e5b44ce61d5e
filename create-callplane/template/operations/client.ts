/** Calls the running server: `npm run call`. The types come from the operations, and nothing is generated. */
import { createClient } from 'callplane/client'
import type * as operations from './operations/index.ts'

const { CALLPLANE_URL: url = 'http://127.0.0.1:4747', CALLPLANE_TOKEN: token } = process.env
const api = createClient<typeof operations>({ url, ...(token && { token }) })

const { item, price } = await api.orders.get({ orderId: 'A-1' })
console.log(`Order A-1: ${item} for ${price}`)

const run = await api.orders.refund.start({ orderId: 'A-1', amount: 20 })
const { refunded } = await run.result()
console.log(`Refunded ${refunded} in the recorded call ${run.id}`)

for await (const { station } of api.parcels.track({ orderId: 'A-1' })) console.log(`The parcel is here: ${station}`)

api.close()
