/** Each provider's own package with a scripted model: one tool call, its result, the end. */
import Anthropic from '@anthropic-ai/sdk'
import { generateText, isStepCount } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { toAISDKTools, toAnthropicTools, toOpenAITools } from 'callplane/agents'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { getOrder, refundOrder, serve, WAYS } from './site.ts'
import { serveModel } from './stub-model.ts'

const ORDER = '{"id":"o1","paid":true}'
const REFUSAL =
  'The order was paid back before.\nCalling again with the same arguments will not help.\nTell the customer when.'

describe.each(WAYS)('from a server by %s', (way) => {
  test('Chat Completions: the model gets the tools, calls two, and gets their results', async () => {
    const { sources } = await serve([getOrder, refundOrder])
    const { tools, call } = await toOpenAITools(sources[way])
    const wish = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"id":"o1"}' } })
    const tool_calls = [wish('call_1', 'orders_get'), wish('call_2', 'orders_refund')]
    const { url, requests } = await serveModel<OpenAI.ChatCompletionCreateParams>([
      { choices: [{ message: { role: 'assistant', content: null, tool_calls } }] },
      { choices: [{ message: { role: 'assistant', content: 'It is paid.' } }] },
    ])
    const openai = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0 })
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Is o1 paid?' }]
    const first = await openai.chat.completions.create({ model: 'stub', messages, tools })
    const { message } = first.choices[0] as OpenAI.ChatCompletion.Choice
    const answers = await Promise.all((message.tool_calls ?? []).map((toolCall) => call(toolCall)))
    messages.push(message, ...answers)
    const last = await openai.chat.completions.create({ model: 'stub', messages, tools })
    expect(last.choices[0]?.message.content).toBe('It is paid.')
    expect(requests[0]?.tools?.[0]).toEqual({
      type: 'function',
      function: {
        name: 'orders_get',
        description: 'One order.',
        parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      },
    })
    expect(requests[1]?.messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'call_1', content: ORDER },
      { role: 'tool', tool_call_id: 'call_2', content: REFUSAL },
    ])
  })

  test('Responses: the same with function calls', async () => {
    const { sources } = await serve([getOrder])
    const { tools, call } = await toOpenAITools(sources[way], { api: 'responses' })
    const wish = { type: 'function_call', call_id: 'call_1', name: 'orders_get', arguments: '{"id":"o1"}' }
    const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is paid.' }] }
    const { url, requests } = await serveModel<OpenAI.Responses.ResponseCreateParams>([
      { object: 'response', output: [wish] },
      { object: 'response', output: [said] },
    ])
    const openai = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0 })
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Is o1 paid?' }]
    const first = await openai.responses.create({ model: 'stub', input, tools })
    for (const item of first.output) if (item.type === 'function_call') input.push(item, await call(item))
    const last = await openai.responses.create({ model: 'stub', input, tools })
    expect(last.output_text).toBe('It is paid.')
    expect(requests[0]?.tools?.[0]).toMatchObject({ type: 'function', name: 'orders_get', strict: false })
    expect(requests[1]?.input?.at(-1)).toEqual({ type: 'function_call_output', call_id: 'call_1', output: ORDER })
  })

  test('Messages: a failure is a result that says so', async () => {
    const { sources } = await serve([getOrder, refundOrder])
    const { tools, call } = await toAnthropicTools(sources[way])
    const wish = (id: string, name: string) => ({ type: 'tool_use', id, name, input: { id: 'o1' } })
    const { url, requests } = await serveModel<Anthropic.MessageCreateParams>([
      { role: 'assistant', content: [wish('toolu_1', 'orders_get'), wish('toolu_2', 'orders_refund')] },
      { role: 'assistant', content: [{ type: 'text', text: 'It is paid.' }] },
    ])
    const anthropic = new Anthropic({ apiKey: 'none', baseURL: url, maxRetries: 0 })
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Is o1 paid?' }]
    const first = await anthropic.messages.create({ model: 'stub', max_tokens: 100, messages, tools })
    const wishes = first.content.filter((block) => block.type === 'tool_use')
    const answers = await Promise.all(wishes.map((block) => call(block)))
    messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: answers })
    const last = await anthropic.messages.create({ model: 'stub', max_tokens: 100, messages, tools })
    expect(last.content).toEqual([{ type: 'text', text: 'It is paid.' }])
    expect(requests[0]?.tools?.[0]).toMatchObject({ name: 'orders_get', input_schema: { type: 'object' } })
    expect(requests[1]?.messages.at(-1)?.content).toEqual([
      { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: ORDER }] },
      { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: REFUSAL }], is_error: true },
    ])
  })

  test('AI SDK: it runs the tools itself, and reports invalid arguments to the model', async () => {
    const { sources } = await serve([getOrder, refundOrder])
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    }
    const wish = (toolCallId: string, toolName: string, input = '{"id":"o1"}') => {
      return { type: 'tool-call' as const, toolCallId, toolName, input }
    }
    const wishes = [
      wish('1', 'orders_get'),
      wish('2', 'orders_refund'),
      wish('3', 'orders_get', '{"id":'),
      wish('4', 'orders_lose'),
    ]
    const model = new MockLanguageModelV4({
      doGenerate: [
        { content: wishes, finishReason: { unified: 'tool-calls', raw: undefined }, usage, warnings: [] },
        {
          content: [{ type: 'text', text: 'It is paid.' }],
          finishReason: { unified: 'stop', raw: undefined },
          usage,
          warnings: [],
        },
      ],
    })
    const tools = await toAISDKTools(sources[way])
    const { text, steps } = await generateText({ model, tools, prompt: 'Is o1 paid?', stopWhen: isStepCount(2) })
    expect(text).toBe('It is paid.')
    expect(model.doGenerateCalls[0]?.tools?.[0]).toMatchObject({
      type: 'function',
      name: 'orders_get',
      // As the server has it: the package would close a schema that it converts to other properties.
      inputSchema: expect.not.objectContaining({ additionalProperties: false }),
    })
    expect(steps[0]?.toolResults[0]?.output).toEqual({
      isError: false,
      text: ORDER,
      value: { id: 'o1', paid: true },
      files: [],
    })
    const heard = model.doGenerateCalls[1]?.prompt.at(-1)
    const outputs = heard?.role === 'tool' ? heard.content.map((part) => 'output' in part && part.output) : []
    expect(outputs).toEqual([
      { type: 'text', value: ORDER },
      { type: 'error-text', value: REFUSAL },
      { type: 'error-text', value: expect.stringContaining('JSON') },
      { type: 'error-text', value: expect.stringContaining('orders_lose') },
    ])
  })
})
