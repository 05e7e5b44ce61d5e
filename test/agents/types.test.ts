/** The types that the helpers return fit the packages' parameters. The compiler proves it; running adds nothing. */
import type Anthropic from '@anthropic-ai/sdk'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { type ClientTool, DynamicStructuredTool } from '@langchain/core/tools'
import type { BaseToolWithCall } from '@llamaindex/core/llms'
import type { Agent, FunctionTool } from '@openai/agents-core'
import type { ToolSet } from 'ai'
import { type CallplaneServer, createServer } from 'callplane'
import {
  type AISDKTools,
  type AnthropicTools,
  type ChatToolCall,
  type LlamaIndexTool,
  type OpenAIAgentsTool,
  type OpenAIChatTools,
  type OpenAIResponsesTools,
  type ToolSource,
  toLangChainTools,
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

test('@openai/agents', () => {
  expectTypeOf<OpenAIAgentsTool>().toExtend<FunctionTool>()
  expectTypeOf<OpenAIAgentsTool[]>().toExtend<Agent['tools']>()
})

test('@langchain/core', () => {
  const open = (source: ToolSource): Promise<ClientTool[]> => toLangChainTools(source, { DynamicStructuredTool })
  const bind = (model: BaseChatModel, tools: Awaited<ReturnType<typeof open>>) => model.bindTools?.(tools)
  expectTypeOf(open).toBeFunction()
  expectTypeOf(bind).toBeFunction()
})

test('@llamaindex/core', () => {
  expectTypeOf<LlamaIndexTool>().toExtend<BaseToolWithCall>()
})

test('a server of ours is a source as it is', () => {
  expectTypeOf<{ server: CallplaneServer }>().toExtend<ToolSource>()
  expectTypeOf(createServer).returns.resolves.toEqualTypeOf<CallplaneServer>()
})
