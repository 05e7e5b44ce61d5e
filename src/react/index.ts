/** `callplane/react`: hooks on TanStack Query, typed by the client's operations. */
export { type CallQuery, type QueriedOperation, queryKey, queryOptions } from '../client/query.ts'
export { useCall } from './use-call.ts'
export { type RunControls, useRun } from './use-run.ts'
export { type StreamState, useStream } from './use-stream.ts'
