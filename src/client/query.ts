/**
 * `callplane/query`: operations as queries of TanStack Query, for React, Vue, Svelte and the others. The options are
 * plain data, so this entry needs no package.
 */
import type { CallOptions } from './options.ts'

/** An operation of a client, such as `api.orders.getItem`. */
export interface QueriedOperation<Args, Result> {
  (args: Args, options?: CallOptions): PromiseLike<Result>
  readonly operation: string
}

export interface CallQuery<Args, Result> {
  readonly queryKey: readonly [operation: string, args: Args | undefined]
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Result>
  /** The client repeats what is safe to repeat by itself. */
  readonly retry: false
}

/** `useQuery(queryOptions(api.orders.getItem, { id }))`. A query that is left aborts its call. */
export function queryOptions<Args, Result>(
  operation: QueriedOperation<Args, Result>,
  args?: Args,
  options: Omit<CallOptions, 'signal'> = {},
): CallQuery<Args, Result> {
  return {
    queryKey: [operation.operation, args],
    queryFn: async ({ signal }) => operation(args as Args, { ...options, signal }),
    retry: false,
  }
}

/** The key of every query of an operation, to invalidate them: `invalidateQueries({ queryKey: queryKey(api.orders.getItem) })`. */
export function queryKey(operation: { readonly operation: string }): readonly [operation: string] {
  return [operation.operation]
}
