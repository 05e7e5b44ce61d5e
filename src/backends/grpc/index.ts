/** Calls a tool that speaks the Tool Contract over gRPC. */
export { createGrpcBackend } from './backend.ts'
export { parseGrpcSettings } from './settings.ts'
