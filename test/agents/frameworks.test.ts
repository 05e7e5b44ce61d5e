/** Each agent framework's own package with a scripted model: two tool calls, their results, the end. */
import { HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { DynamicStructuredTool } from '@langchain/core/tools'
import {
  type ChatMessage,
  type ChatResponse,
  type ChatResponseChunk,
  type LLMChatParamsNonStreaming,
  type LLMChatParamsStreaming,
  ToolCallLLM,
  type ToolCallLLMMessageOptions,
} from '@llamaindex/core/llms'
import { agent } from '@llamaindex/workflow'
import { Agent, type AgentOutputItem, type ModelRequest, Runner, Usage } from '@openai/agents-core'
import { operation } from 'callplane'
import { toLangChainTools, toLlamaIndexTools, toOpenAIAgentsTools } from 'callplane/agents'
import { describe, expect, test } from 'vitest'
import { getOrder, refundOrder, serve, WAYS } from './site.ts'

const ORDER = '{"id":"o1","paid":true}'
const REFUSAL =
  'The order was paid back before.\nCalling again with the same arguments will not help.\nTell the customer when.'

const PIXEL = 'iVBORw0KGgo='
const draw = operation('v1:pictures.draw', {
  run: (_args, ctx) => ctx.object(Buffer.from(PIXEL, 'base64'), { mimeType: 'image/png' }),
})

const SCHEMA = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }

describe.each(WAYS)('from a server by %s', (way) => {
  test('LangChain: the tools are bound to a model, and each tool call becomes a tool message', async () => {
    const { sources } = await serve([getOrder, refundOrder])
    const tools = await toLangChainTools(sources[way], { DynamicStructuredTool })
    const model = fakeModel().respondWithTools([
      { id: '1', name: 'orders_get', args: { id: 'o1' } },
      { id: '2', name: 'orders_refund', args: { id: 'o1' } },
    ])
    const said = await model.bindTools(tools).invoke([new HumanMessage('Is o1 paid?')])
    const messages = await Promise.all(
      (said.tool_calls ?? []).map((call) => tools.find(({ name }) => name === call.name)?.invoke(call)),
    )

    expect(tools.map(({ schema }) => schema)).toEqual([SCHEMA, SCHEMA])
    expect(messages).toMatchObject([
      { tool_call_id: '1', name: 'orders_get', content: ORDER, artifact: { isError: false, value: { paid: true } } },
      { tool_call_id: '2', name: 'orders_refund', content: REFUSAL, artifact: { isError: true } },
    ])
  })

  test('OpenAI Agents SDK: a run calls the tools and gives their results to the model', async () => {
    const { sources } = await serve([getOrder, refundOrder])
    const wish = (callId: string, name: string): AgentOutputItem => {
      return { type: 'function_call', callId, name, arguments: '{"id":"o1"}', status: 'completed' }
    }
    const { runner, requests } = scriptedRunner([
      [wish('call_1', 'orders_get'), wish('call_2', 'orders_refund')],
      [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Paid.' }] }],
    ])
    const { finalOutput } = await runner.run(
      new Agent({ name: 'orders', model: 'scripted', tools: await toOpenAIAgentsTools(sources[way]) }),
      'Is o1 paid?',
    )

    expect(finalOutput).toBe('Paid.')
    expect(requests[0]?.tools[0]).toMatchObject({
      type: 'function',
      name: 'orders_get',
      strict: false,
      parameters: SCHEMA,
    })
    expect(requests[1]?.input.slice(-2)).toMatchObject([
      { type: 'function_call_result', callId: 'call_1', output: { type: 'text', text: ORDER } },
      { type: 'function_call_result', callId: 'call_2', output: { type: 'text', text: REFUSAL } },
    ])
  })

  test('LlamaIndex: an agent calls the tools and gives their results to the model', async () => {
    const { sources } = await serve([getOrder, refundOrder])
    const wish = (id: string, name: string) => ({ id, name, input: { id: 'o1' } })
    const llm = new ScriptedLlm([
      { delta: '', raw: null, options: { toolCall: [wish('1', 'orders_get'), wish('2', 'orders_refund')] } },
      { delta: 'Paid.', raw: null },
    ])
    const orders = agent({ llm, tools: await toLlamaIndexTools(sources[way]), verbose: false })
    const { data } = await orders.run('Is o1 paid?')

    expect(data.result).toBe('Paid.')
    expect(llm.offered[0]).toMatchObject({ name: 'orders_get', description: 'One order.', parameters: SCHEMA })
    expect(llm.heard.slice(-2).map(({ options }) => options)).toMatchObject([
      // LlamaIndex removes quotes, and escapes line breaks.
      { toolResult: { id: '1', result: '{\n  id: o1,\n  paid: true\n}', isError: false } },
      { toolResult: { id: '2', result: REFUSAL.replaceAll('\n', '\\n') } },
    ])
  })
})

test('a picture is shown where the framework accepts one, and noted where it does not', async () => {
  const { sources } = await serve([draw])
  const dataUrl = `data:image/png;base64,${PIXEL}`
  const [onLangChain] = await toLangChainTools(sources.url, { DynamicStructuredTool })
  const [onLlamaIndex] = await toLlamaIndexTools(sources.url)
  const [onOpenAI] = await toOpenAIAgentsTools(sources.url)

  expect(await onLangChain?.invoke({ type: 'tool_call', id: '1', name: 'pictures_draw', args: {} })).toMatchObject({
    content: [{ type: 'image_url', image_url: { url: dataUrl } }],
  })
  expect(await onLlamaIndex?.call({})).toBe('[A file of type image/png, which cannot be shown here.]')
  expect(await onOpenAI?.invoke(undefined, '{}')).toEqual([{ type: 'image', image: dataUrl }])
})

test('LlamaIndex refuses null in results, so the model gets such a result as text', async () => {
  const { sources } = await serve([operation('v1:orders.find', { run: () => ({ order: null }) })])
  const [find] = await toLlamaIndexTools(sources.url)

  expect(await find?.call({})).toBe('{"order":null}')
})

test('the id of the tool call is the idempotency key where the framework passes it', async () => {
  let runs = 0
  const pay = operation('v1:orders.pay', { sideEffecting: true, run: () => ++runs })
  const { sources } = await serve([pay])
  const id = 'call_2Vv0aTqfY8KzWn3mHc7R'
  const [onLangChain] = await toLangChainTools(sources.url, { DynamicStructuredTool })
  const [onOpenAI] = await toOpenAIAgentsTools(sources.url)
  const toolCall = { type: 'tool_call' as const, id, name: 'orders_pay', args: {} }

  expect(await onLangChain?.invoke(toolCall)).toMatchObject({ content: '1' })
  expect(await onLangChain?.invoke(toolCall)).toMatchObject({ content: '1' })
  expect(await onOpenAI?.invoke(undefined, '{}', { toolCall: { callId: id } })).toBe('1')
  expect(await onOpenAI?.invoke(undefined, '{}', { toolCall: { callId: `${id}-2` } })).toBe('2')
})

test('an abort of the run cancels the call', async () => {
  const aborted = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const began = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let runs = 0
  const wait = operation('v1:jobs.wait', {
    run(_args, { signal }) {
      const run = runs++
      signal.addEventListener('abort', () => aborted[run]?.resolve())
      began[run]?.resolve()
      return aborted[run]?.promise
    },
  })
  const { sources } = await serve([wait])
  const [onLangChain] = await toLangChainTools(sources.url, { DynamicStructuredTool })
  const [onOpenAI] = await toOpenAIAgentsTools(sources.url)
  const calls = [
    (signal: AbortSignal) => onLangChain?.invoke({}, { signal }),
    (signal: AbortSignal) => onOpenAI?.invoke(undefined, '{}', { signal }),
  ]

  for (const [run, call] of calls.entries()) {
    const leaving = new AbortController()
    const called = call(leaving.signal)
    await began[run]?.promise
    leaving.abort(new Error('enough'))
    await expect(called).rejects.toThrow('enough')
    await aborted[run]?.promise
  }
})

test('a token that expires ends the run, except in LlamaIndex, where the model is told', async () => {
  const { sources, token } = await serve([getOrder])
  let current = token
  const source = { ...sources.url, token: () => current }
  const [onLangChain] = await toLangChainTools(source, { DynamicStructuredTool })
  const tools = await toOpenAIAgentsTools(source)
  const llamaIndexTools = await toLlamaIndexTools(source)
  const { runner } = scriptedRunner([
    [{ type: 'function_call', callId: 'call_1', name: 'orders_get', arguments: '{"id":"o1"}', status: 'completed' }],
  ])
  const llm = new ScriptedLlm([
    { delta: '', raw: null, options: { toolCall: [{ id: '1', name: 'orders_get', input: { id: 'o1' } }] } },
    { delta: 'I cannot see it.', raw: null },
  ])
  current = 'expired'

  await expect(onLangChain?.invoke({ id: 'o1' })).rejects.toThrow('does not accept the token')
  await expect(runner.run(new Agent({ name: 'orders', model: 'scripted', tools }), 'Is o1 paid?')).rejects.toThrow(
    'does not accept the token',
  )
  await agent({ llm, tools: llamaIndexTools, verbose: false }).run('Is o1 paid?')
  expect(llm.heard.at(-1)?.options).toMatchObject({ toolResult: { isError: true } })
})

/** Responds to each request of the runner with the next output. */
function scriptedRunner(outputs: readonly AgentOutputItem[][]) {
  const requests: { tools: ModelRequest['tools']; input: unknown[] }[] = []
  const model = {
    async getResponse(request: ModelRequest) {
      requests.push({ tools: request.tools, input: [...request.input] })
      return { usage: new Usage(), output: outputs[requests.length - 1] ?? [] }
    },
    getStreamedResponse(): never {
      throw new Error('The run does not stream.')
    },
  }
  const runner = new Runner({ modelProvider: { getModel: async () => model }, tracingDisabled: true })
  return { runner, requests }
}

class ScriptedLlm extends ToolCallLLM {
  readonly supportToolCall = true
  readonly metadata = {
    model: 'scripted',
    temperature: 0,
    topP: 1,
    contextWindow: 1000,
    tokenizer: undefined,
    structuredOutput: false,
  }
  readonly #script: ChatResponseChunk<ToolCallLLMMessageOptions>[]
  /** The messages of the last request. */
  heard: ChatMessage<ToolCallLLMMessageOptions>[] = []
  offered: unknown[] = []

  constructor(script: ChatResponseChunk<ToolCallLLMMessageOptions>[]) {
    super()
    this.#script = [...script]
  }

  chat(
    params: LLMChatParamsStreaming<object, ToolCallLLMMessageOptions>,
  ): Promise<AsyncIterable<ChatResponseChunk<ToolCallLLMMessageOptions>>>
  chat(
    params: LLMChatParamsNonStreaming<object, ToolCallLLMMessageOptions>,
  ): Promise<ChatResponse<ToolCallLLMMessageOptions>>
  async chat({
    messages,
    tools,
  }:
    | LLMChatParamsStreaming<object, ToolCallLLMMessageOptions>
    | LLMChatParamsNonStreaming<object, ToolCallLLMMessageOptions>): Promise<never> {
    this.heard = [...messages]
    this.offered = (tools ?? []).map(({ metadata }) => metadata)
    const next = this.#script.shift()
    async function* chunks() {
      if (next) yield next
    }
    return chunks() as never
  }
}
