/** Uses the client in Bun, and prints what it got. Started with the address of a server. */
import { createClient, isFault } from '../../src/client/index.ts'
import type * as operations from './operations.ts'

const api = createClient<typeof operations>({ url: process.argv[2] as string })
const run = await api.reports.generate.start({ steps: 3 })
const frames: number[] = []
for await (const { n } of api.clock.count({ to: 4 })) frames.push(n)

console.log(
  JSON.stringify({
    sum: await api.math.add({ a: 1, b: 2 }),
    fault: await api.math.add({ a: -1, b: 2 }).catch((error: unknown) => isFault(error, 'NEGATIVE')),
    rows: (await run.result()).rows,
    text: await api.orders.export({ rows: 2 }).text(),
    upload: await api.files.describe(
      {},
      { media: { file: new Blob(['12345'], { type: 'text/plain' }) }, onUpload: () => {} },
    ),
    frames,
  }),
)
