/** LangChain's `createAgent` with a scripted model: two tool calls, their results, the end. */
import { join } from 'node:path'
import { toLangChainTools } from 'callplane/agents'
import { expect, test } from 'vitest'
import { describeWith, LARGE_PACKAGES, largePackages } from '../engines/engines.ts'
import { getOrder, refundOrder, serve, WAYS } from './site.ts'

interface Message {
  readonly type: string
  readonly content: unknown
  readonly tool_call_id?: string
}

interface Agent {
  invoke(input: { messages: { role: string; content: string }[] }): Promise<{ messages: Message[] }>
}

/** The package is no dependency of this repository, so its types are not there. It needs its own copy of the core. */
async function load() {
  const core = join(LARGE_PACKAGES, '@langchain/core/dist')
  const [{ createAgent }, { fakeModel }, { DynamicStructuredTool }, { AIMessage }] = await Promise.all(
    [
      join(LARGE_PACKAGES, 'langchain/dist/index.js'),
      join(core, 'testing/index.js'),
      join(core, 'tools/index.js'),
      join(core, 'messages/index.js'),
    ].map((path) => import(path)),
  )
  return { createAgent, fakeModel, DynamicStructuredTool, AIMessage }
}

describeWith(largePackages, 'LangChain', () => {
  test.each(WAYS)('an agent runs the tools of a server by %s, and the model gets their results', async (way) => {
    const { createAgent, fakeModel, DynamicStructuredTool, AIMessage } = await load()
    const { sources } = await serve([getOrder, refundOrder])
    const model = fakeModel()
      .respondWithTools([
        { id: '1', name: 'orders_get', args: { id: 'o1' } },
        { id: '2', name: 'orders_refund', args: { id: 'o1' } },
      ])
      .respond(new AIMessage('It is paid.'))
    const tools = await toLangChainTools(sources[way], { DynamicStructuredTool })
    const agent: Agent = createAgent({ model, tools })

    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Is o1 paid?' }] })

    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'tool', 'ai'])
    expect(messages.slice(2)).toMatchObject([
      { tool_call_id: '1', content: '{"id":"o1","paid":true}' },
      { tool_call_id: '2', content: expect.stringContaining('The order was paid back before.') },
      { content: 'It is paid.' },
    ])
  })
})
