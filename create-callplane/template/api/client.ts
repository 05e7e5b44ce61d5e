/** Calls the running server: `npm run call` lists the tools, `npm run call -- <tool> '<JSON>'` calls one. */
import { createClient } from 'callplane/client'

const { CALLPLANE_URL: url = 'http://127.0.0.1:4747', CALLPLANE_TOKEN: token } = process.env
const api = createClient<Record<`v1:${string}`, { args: object; result: unknown }>>({ url, ...(token && { token }) })
const [tool, args = '{}'] = process.argv.slice(2)

if (tool === undefined) {
  const { operations } = await api.registry()
  for (const { op } of operations) if (!op.startsWith('v1:callplane.')) console.log(op)
} else {
  console.log(JSON.stringify(await api.call(tool as `v1:${string}`, JSON.parse(args)), null, 2))
}

api.close()
