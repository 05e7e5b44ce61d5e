/**
 * A server with two remote tools for the declarations in this folder: a plain HTTP endpoint, and one that speaks the
 * Tool Contract. `node examples/remote-tools/tool-server.ts` starts it on port 4800, or on `PORT`.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Tool = (body: Record<string, unknown>) => unknown

const tools: Record<string, Tool> = {
  // Any POST endpoint can be a tool: the body has the arguments, and the response is the result.
  '/weather': ({ city }) => ({ city, celsius: String(city).length }),
  // Takes the full request of the Contract and returns its response.
  '/contract': ({ request_id, input }) => ({
    tool_contract_version: 'v1',
    request_id,
    status: 'ok',
    output: { greeting: `Hello ${(input as { name: string }).name}` },
    usage: { duration_ms: 1, attempt: 1 },
    trace: { trace_id: '', span_id: '' },
  }),
}

const server = createServer(async (request, response) => {
  const tool = tools[request.url ?? '']
  const answer = tool ? tool(await bodyOf(request)) : { error: 'There is no such tool.' }
  response.writeHead(tool ? 200 : 404, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
})

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  return JSON.parse(await text(request)) as Record<string, unknown>
}

server.listen(Number(process.env.PORT ?? 4800), '127.0.0.1', () => {
  console.log(`Tools at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
