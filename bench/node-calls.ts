/** Calls over HTTP to one of several nodes, and polls of them at any node. */
import { Agent } from 'node:http'
import { fetchOnce } from './fetch-once.ts'
import { callRequest } from './traffic.ts'

export interface NodeCalls {
  /** Settles when the call is accepted. */
  begin(port: number, operation: string, args: object, requestId: string): Promise<void>
  /** Returns the result of a call that ends within ten seconds, or `undefined`. */
  poll(port: number, requestId: string, waitSeconds: number): Promise<number | undefined>
  close(): void
}

export function createNodeCalls(): NodeCalls {
  const agent = new Agent({ keepAlive: true, scheduling: 'fifo' })
  return {
    async begin(port, operation, args, requestId) {
      const { body } = callRequest(operation, args, requestId)
      const headers = { 'Content-Type': 'application/json' }
      const { status, body: told } = await fetchOnce(port, '/call', { agent, body, headers })
      if (status !== 202) throw new Error(`A call was answered with ${status} ${told}`)
    },
    async poll(port, requestId, waitSeconds) {
      const headers: Record<string, string> = waitSeconds > 0 ? { Prefer: `wait=${waitSeconds}` } : {}
      const { status, body } = await fetchOnce(port, `/ops/${requestId}`, { agent, headers })
      const reply = JSON.parse(body.toString()) as { state?: string; result?: number }
      if (status !== 200 && status !== 202) throw new Error(`A poll was answered with ${status} ${body}`)
      return reply.state === 'complete' ? reply.result : undefined
    },
    close: () => agent.destroy(),
  }
}
