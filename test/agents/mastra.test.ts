/** Mastra's own package with a scripted model: four tool calls, their results, the end. */
import { join } from 'node:path'
import { operation } from 'callplane'
import { type MastraTools, toMastraTools } from 'callplane/agents'
import { expect, test } from 'vitest'
import { describeWith, LARGE_PACKAGES, largePackages } from '../engines/engines.ts'
import { getOrder, refundOrder, serve, WAYS } from './site.ts'
import { serveModel } from './stub-model.ts'

const PIXEL = 'iVBORw0KGgo='
const draw = operation('v1:pictures.draw', {
  run: (_args, ctx) => ctx.object(Buffer.from(PIXEL, 'base64'), { mimeType: 'image/png' }),
})

interface ChatRequest {
  tools: { function: { name: string; parameters: object } }[]
  messages: { role: string; content: unknown; tool_call_id?: string }[]
}

interface Agent {
  generate(prompt: string, settings: { maxSteps: number; abortSignal?: AbortSignal }): Promise<{ text: string }>
}

/** The package is no dependency of this repository, so its types are not there. */
async function createAgent(url: string, tools: MastraTools): Promise<Agent> {
  const { Agent } = await import(join(LARGE_PACKAGES, '@mastra/core/dist/agent/index.js'))
  const model = { id: 'scripted/model', url, apiKey: 'none' }
  return new Agent({ id: 'orders', name: 'orders', instructions: 'Answer briefly.', model, tools })
}

const wish = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const say = (finish_reason: string, message: object) => ({ choices: [{ index: 0, finish_reason, message }] })

describeWith(largePackages, 'Mastra', () => {
  test.each(WAYS)('an agent runs the tools of a server by %s, and the model gets their results', async (way) => {
    const { sources } = await serve([getOrder, refundOrder, draw])
    const tool_calls = [
      wish('call_1', 'orders_get', '{"id":"o1"}'),
      wish('call_2', 'orders_refund', '{"id":"o1"}'),
      wish('call_3', 'orders_get', '{"id":7}'),
      wish('call_4', 'pictures_draw', '{}'),
    ]
    const { url, requests } = await serveModel<ChatRequest>([
      say('tool_calls', { role: 'assistant', content: null, tool_calls }),
      say('stop', { role: 'assistant', content: 'It is paid.' }),
    ])
    const agent = await createAgent(url, await toMastraTools(sources[way]))

    const { text } = await agent.generate('Is o1 paid?', { maxSteps: 2 })

    const heard = requests[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(text).toBe('It is paid.')
    expect(requests[0]?.tools.map(({ function: { name } }) => name)).toContain('orders_get')
    expect(heard).toEqual([
      '{"id":"o1","paid":true}',
      expect.stringContaining('The order was paid back before.'),
      expect.stringContaining('id'),
      expect.stringContaining(PIXEL),
    ])
  })

  test('an abort of the run cancels the call', async () => {
    const began = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    const wait = operation('v1:jobs.wait', {
      run(_args, { signal }) {
        signal.addEventListener('abort', () => aborted.resolve())
        began.resolve()
        return aborted.promise
      },
    })
    const { sources } = await serve([wait])
    const tool_calls = [wish('call_1', 'jobs_wait', '{}')]
    const { url } = await serveModel([say('tool_calls', { role: 'assistant', content: null, tool_calls })])
    const agent = await createAgent(url, await toMastraTools(sources.url))
    const leaving = new AbortController()

    const run = agent.generate('Wait.', { maxSteps: 1, abortSignal: leaving.signal })
    await began.promise
    leaving.abort()

    await aborted.promise
    await Promise.allSettled([run])
  })

  test('the model is told if the token has expired', async () => {
    const { sources, token } = await serve([getOrder])
    let current = token
    const tools = await toMastraTools({ ...sources.url, token: () => current })
    const { url, requests } = await serveModel<ChatRequest>([
      say('tool_calls', {
        role: 'assistant',
        content: null,
        tool_calls: [wish('call_1', 'orders_get', '{"id":"o1"}')],
      }),
      say('stop', { role: 'assistant', content: 'I cannot see it.' }),
    ])
    current = 'expired'

    await (await createAgent(url, tools)).generate('Is o1 paid?', { maxSteps: 2 })

    expect(requests[1]?.messages.at(-1)?.content).toContain('does not accept the token')
  })
})
