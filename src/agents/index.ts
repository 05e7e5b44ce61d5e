/** `callplane/agents`: a server's operations as tools for agents that do not use MCP. */
export { type AISDKOutput, type AISDKSchema, type AISDKTool, type AISDKTools, toAISDKTools } from './ai-sdk.ts'
export {
  type AnthropicContent,
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicTools,
  type AnthropicToolUse,
  toAnthropicTools,
} from './anthropic.ts'
export type { LocalServer, RemoteServer, Token, ToolSource } from './connection.ts'
export {
  type LangChainConfig,
  type LangChainFields,
  type LangChainOptions,
  type LangChainOutput,
  type LangChainPart,
  toLangChainTools,
} from './langchain.ts'
export { type LlamaIndexOutput, type LlamaIndexTool, toLlamaIndexTools } from './llamaindex.ts'
export {
  type MastraCall,
  type MastraOutput,
  type MastraPart,
  type MastraTool,
  type MastraTools,
  toMastraTools,
} from './mastra.ts'
export {
  type ChatTool,
  type ChatToolCall,
  type ChatToolMessage,
  type OpenAIChatTools,
  type OpenAIOptions,
  type OpenAIResponsesTools,
  type ResponsesTool,
  type ResponsesToolCall,
  type ResponsesToolOutput,
  toOpenAITools,
} from './openai.ts'
export {
  type OpenAIAgentsDetails,
  type OpenAIAgentsPart,
  type OpenAIAgentsSchema,
  type OpenAIAgentsTool,
  toOpenAIAgentsTools,
} from './openai-agents.ts'
export type { ResultFile, ToolResult } from './results.ts'
export type { ObjectSchema } from './schema.ts'
export {
  type AgentTools,
  type CallSettings,
  type ModelCall,
  type ModelTool,
  openTools,
  type ToolsOptions,
} from './tools.ts'
