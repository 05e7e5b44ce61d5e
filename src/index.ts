/** The public exports of `callplane`. */

export type { Call } from './core/call/call.ts'
export type { Caller } from './core/call/caller.ts'
export type { ChildOptions, FailOptions, HandlerContext, MediaFile, ObjectOptions } from './core/call/context.ts'
export type { Instance } from './core/call/instance.ts'
export type { Reply } from './core/call/reply.ts'
export { ApplicationFault as Fault, type FaultKind, type FaultOptions } from './core/fault.ts'
export type { JsonObject, JsonValue } from './core/json.ts'
export type { AuthDeclaration } from './core/operation/credential.ts'
export { type OperationOptions, operation, operationsWith, removed } from './core/operation/define.ts'
export type { BackendSpec, OperationDefinition, OperationTypes, Tombstone } from './core/operation/operation.ts'
export { Chunked, type ChunkedOptions, type ChunkSource, Located } from './core/operation/returned.ts'
export type { DeclaredError, MediaSlot, RetryRules, Risk } from './core/operation/rules.ts'
export {
  type Input,
  jsonSchema,
  type Output,
  type PlainSchema,
  type Schema,
  type StandardSchema,
} from './core/operation/schema.ts'
export type { Decision, Guard } from './core/ports/guard.ts'
export type { ObjectStore } from './core/ports/objects.ts'
export type { Log } from './core/ports/runtime.ts'
export type { Connection, Message, OpenSession, Session } from './core/ports/session.ts'
export type { OpenStore, Store } from './core/ports/store.ts'
export type { AuthorizationConfig, OAuthProvider } from './security/consent/provider.ts'
export type { AuthConfig, JwtRules, VerifiedCaller, VerifyCaller } from './security/identity/identify.ts'
export { createToken, hashToken, type StaticToken } from './security/identity/tokens.ts'
export { definePolicy, type PolicyDefinition } from './security/policy/policy.ts'
export type { SecretPlace } from './security/secrets/secrets.ts'
export { type ImportedRules, type ImportSettings, importTools } from './server/build/import-tools.ts'
export { type CallplaneServer, createServer } from './server/create-server.ts'
export type { ToolImport } from './server/declarations/index.ts'
export type { TrustedCaller } from './server/mount/in-process.ts'
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
} from './server/mount/tool-handler.ts'
export type { AuthHook } from './server/options/auth-hook.ts'
export type { S3Settings } from './server/options/objects.ts'
export type {
  ContextSource,
  GrpcServerOptions,
  KeyOptions,
  LimitRules,
  ServerOptions,
  UpgradeClaim,
} from './server/options/options.ts'
export { Link, type LinkParts, MAX_IN_FLIGHT, type MessageLimits } from './wire/messages/link.ts'
export { messageTooLarge } from './wire/messages/text.ts'
