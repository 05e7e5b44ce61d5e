/** Callplane's public face. */
export type { ChildOptions, FailOptions, HandlerContext, MediaFile, ObjectOptions } from './core/context.ts'
export type { AuthDeclaration } from './core/credential.ts'
export { ApplicationFault as Fault, type FaultKind, type FaultOptions } from './core/fault.ts'
export type { JsonObject, JsonValue } from './core/json.ts'
export type { LimitRules } from './core/limits.ts'
export type { Call, Caller, Instance, Reply } from './core/model.ts'
export {
  type BackendSpec,
  Chunked,
  type ChunkedOptions,
  type ChunkSource,
  Located,
  type MediaSlot,
  type OperationDefinition,
  type OperationOptions,
  operation,
  operationsWith,
  type RetryRules,
  type Risk,
  removed,
  type Tombstone,
} from './core/operation.ts'
export type { Decision, Guard, Log, ObjectStore, Store } from './core/ports.ts'
export {
  type Input,
  jsonSchema,
  type Output,
  type PlainSchema,
  type Schema,
  type StandardSchema,
} from './core/standard-schema.ts'
export type { AuthConfig, JwtRules, VerifiedCaller, VerifyCaller } from './governance/auth.ts'
export { createToken, hashToken, type StaticToken } from './governance/auth-tokens.ts'
export type { AuthorizationConfig, OAuthProvider } from './governance/oauth-provider.ts'
export { definePolicy, type PolicyDefinition } from './governance/policy.ts'
export type { SecretPlace } from './governance/secrets.ts'
export type { AuthHook } from './server/auth-hook.ts'
export { type CallplaneServer, createServer } from './server/compose.ts'
export type { ToolImport } from './server/declarations/index.ts'
export { type ImportedRules, type ImportSettings, importTools } from './server/import-tools.ts'
export type { ContextSource, GrpcServerOptions, ServerOptions, VaultOptions } from './server/options.ts'
export {
  type CallToolResult,
  type Content,
  createToolHandler,
  type HostTool,
  type ToolCallHandler,
  type ToolCallOutcome,
  type ToolHandler,
  type ToolHandlerConfig,
  type ToolsProvider,
  type ValidateResult,
  type ValidationFailure,
} from './server/tool-handler.ts'
