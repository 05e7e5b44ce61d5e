/** Calls a tool that implements the Tool Contract over gRPC. */
export { createGrpcBackend } from './backend.ts'
export { parseGrpcSettings } from './settings.ts'
