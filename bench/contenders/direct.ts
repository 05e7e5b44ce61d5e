/** Calls the remote tool without an engine: with node:http, or with the HTTP client that the backends use. */
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { createRemoteClient } from '../../src/security/outbound/remote-client.ts'
import { fetchOnce } from '../fetch-once.ts'
import type { Contender } from './contender.ts'
import { createRepeater } from './repeat.ts'

type Ask = (body: string) => Promise<string>

export const start: Contender = async ({ backend, toolPort = 0, bare }) => {
  const path = backend === 'external' ? '/execute' : '/echo'
  const { ask, close } = bare ? askBarely(toolPort, path) : askRemote(`http://127.0.0.1:${toolPort}${path}`)
  const call = async (index: number) => {
    const input = { a: index, b: 1 }
    const answer = JSON.parse(await ask(JSON.stringify(backend === 'external' ? requestFor(input) : input)))
    const { a } = backend === 'external' ? answer.output : answer
    if (a !== index) throw new Error(`The tool answered ${JSON.stringify(answer)}.`)
  }
  return { port: 0, work: createRepeater(call), close: async () => close() }
}

function askBarely(port: number, path: string): { ask: Ask; close(): void } {
  const agent = new Agent({ keepAlive: true })
  const headers = { 'Content-Type': 'application/json' }
  return {
    ask: async (body) => (await fetchOnce(port, path, { agent, body, headers })).body.toString(),
    close: () => agent.destroy(),
  }
}

function askRemote(url: string): { ask: Ask; close(): void } {
  const remote = createRemoteClient()
  const headers = { 'Content-Type': 'application/json' }
  const { signal } = new AbortController()
  const request = { method: 'POST', url, headers, maxBytes: 4 << 20, allowPrivate: true, signal } as const
  return { ask: async (body) => (await remote.send({ ...request, body })).text, close: () => remote.close() }
}

/** The request that the backend sends, written by hand. */
function requestFor(input: object) {
  return {
    tool_contract_version: 'v1',
    request_id: randomUUID(),
    task_id: '',
    namespace: 'main',
    agent: 'bench',
    tool: { name: 'Remote_run', operation: 'invoke', capabilities: [], risk_level: 'low' },
    input,
    input_raw: '',
    runtime: {
      mode: 'external',
      timeout_ms: 30_000,
      max_attempts: 1,
      backoff: 'exponential',
      max_backoff_ms: 30_000,
      jitter: false,
      attempt: 1,
    },
    auth: { profile: '', secret_ref: '', scopes: [] },
    trace: { trace_id: '', span_id: '' },
  }
}
