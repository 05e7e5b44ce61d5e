/** The types that the helpers return fit the packages' parameters. The compiler proves it; running adds nothing. */
import type Anthropic from '@anthropic-ai/sdk'
import type { ToolSet } from 'ai'
import { type CallplaneServer, createServer } from 'callplane'
import type {
  AISDKTools,
  AnthropicTools,
  ChatToolCall,
  OpenAIChatTools,
  OpenAIResponsesTools,
  ToolSource,
} from 'callplane/agents'
import type OpenAI from 'openai'
import { expectTypeOf, test } from 'vitest'

test('openai', () => {
  expectTypeOf<OpenAIChatTools['tools']>().toExtend<NonNullable<OpenAI.ChatCompletionCreateParams['tools']>>()
  expectTypeOf<OpenAI.ChatCompletionMessageToolCall>().toExtend<ChatToolCall>()
  expectTypeOf<Awaited<ReturnType<OpenAIChatTools['call']>>>().toExtend<OpenAI.ChatCompletionMessageParam>()
  expectTypeOf<OpenAIResponsesTools['tools']>().toExtend<NonNullable<OpenAI.Responses.ResponseCreateParams['tools']>>()
  expectTypeOf<OpenAI.Responses.ResponseFunctionToolCall>().toExtend<Parameters<OpenAIResponsesTools['call']>[0]>()
  expectTypeOf<
    Awaited<ReturnType<OpenAIResponsesTools['call']>>
  >().toExtend<OpenAI.Responses.ResponseInputItem.FunctionCallOutput>()
})

test('@anthropic-ai/sdk', () => {
  expectTypeOf<AnthropicTools['tools']>().toExtend<NonNullable<Anthropic.MessageCreateParams['tools']>>()
  expectTypeOf<Anthropic.ToolUseBlock>().toExtend<Parameters<AnthropicTools['call']>[0]>()
  expectTypeOf<Awaited<ReturnType<AnthropicTools['call']>>>().toExtend<Anthropic.ToolResultBlockParam>()
})

test('ai', () => {
  expectTypeOf<AISDKTools>().toExtend<ToolSet>()
})

test('a server of ours is a source as it is', () => {
  expectTypeOf<{ server: CallplaneServer }>().toExtend<ToolSource>()
  expectTypeOf(createServer).returns.resolves.toEqualTypeOf<CallplaneServer>()
})
