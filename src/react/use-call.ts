/** The result of an operation as a query. */
import { type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { CallFault } from '../client/fault.ts'
import { type QueriedOperation, queryOptions } from '../client/query.ts'

/** `const { data, error } = useCall(api.orders.getItem, { id })`. Takes the options of `useQuery`. */
export function useCall<Args, Result, Data = Result>(
  operation: QueriedOperation<Args, Result>,
  args?: Args,
  options: Omit<UseQueryOptions<Result, CallFault, Data, readonly unknown[]>, 'queryKey' | 'queryFn'> = {},
): UseQueryResult<Data, CallFault> {
  return useQuery<Result, CallFault, Data, readonly unknown[]>({ ...queryOptions(operation, args), ...options })
}
