/**
 * A remote tool that answers later: some jobs by a callback through any node, some when they are asked for. It notes
 * each job once, as its effect.
 */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { nowMs } from '../history.ts'
import type { Site } from './site.ts'

interface Job {
  label: string
  agent: string
  isDone: boolean
}

export interface Tool extends AsyncDisposable {
  readonly endpoint: string
  readonly secret: string
  /** Callbacks go to this site. */
  site: Site | undefined
}

const SECRET = 'chaos-callback-secret-of-the-tool'

export async function startTool(effectsFile: string): Promise<Tool> {
  const jobs = new Map<string, Job>()
  const tool = { site: undefined as Site | undefined, secret: SECRET }
  const answerTo = (id: string, { label, agent }: Job) => ({
    tool_contract_version: 'v1',
    request_id: id,
    status: 'ok',
    output: { label, key: id, attempt: 0, by: agent },
  })

  async function work(id: string, job: Job): Promise<void> {
    await pause(50 + (tool.site?.random(1_500) ?? 0))
    const line = { step: 'effect', label: job.label, key: id, attempt: 0, by: job.agent, node: -1, atMs: nowMs() }
    appendFileSync(effectsFile, `${JSON.stringify(line)}\n`)
    job.isDone = true
    // The others wait until they are asked.
    if ((tool.site?.random(4) ?? 0) > 0) await callBack(id, JSON.stringify(answerTo(id, job)))
  }

  async function callBack(id: string, body: string): Promise<void> {
    for (let tries = 0; tries < 20 && tool.site; tries++) {
      const timestamp = String(Math.floor(Date.now() / 1_000))
      const signature = createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')
      try {
        const response = await fetch(`${tool.site.urlOf(tool.site.anyNode())}/v1/tool-callbacks/${id}`, {
          method: 'POST',
          headers: { 'X-Timestamp': timestamp, 'X-Signature': `sha256=${signature}` },
          body,
          signal: AbortSignal.timeout(10_000),
        })
        // 404: the call does not wait yet, or no longer.
        if (response.status === 202 || response.status === 409) return
      } catch {
        // The node is away. Another one may take it.
      }
      await tool.site.rest(400)
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, body: object = {}) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    if (request.method === 'POST') {
      const sent = (await json(request)) as { request_id: string; agent: string; input: { label: string } }
      const { request_id: id, agent, input } = sent
      if (!jobs.has(id)) {
        const job = { label: input.label, agent, isDone: false }
        jobs.set(id, job)
        void work(id, job)
      }
      return void reply(202)
    }
    const id = decodeURIComponent(request.url?.split('/').at(-1) ?? '')
    const job = jobs.get(id)
    if (request.method === 'DELETE') return void reply(200)
    if (!job) return void reply(404)
    if (!job.isDone) return void reply(202)
    reply(200, answerTo(id, job))
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return Object.assign(tool, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jobs`,
    async [Symbol.asyncDispose]() {
      tool.site = undefined
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
