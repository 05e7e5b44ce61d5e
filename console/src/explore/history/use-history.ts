/** The history of this browser for the signed-in caller, and what it has now. */
import { useQuery } from '@tanstack/preact-query'
import { useMemo } from 'preact/hooks'
import { usePage, useWho } from '../../shell/page.ts'
import { type CallHistory, historyOf, type PastCall, type SavedCall } from './call-history.ts'

/** Queries that begin with it are read anew when the history changes. */
export const HISTORY_KEY = 'history'

/** `undefined`: the browser keeps nothing for the page. */
export function useHistory(): CallHistory | undefined {
  const { server } = usePage()
  const { caller } = useWho()
  return useMemo(() => historyOf(server.base, caller), [server.base, caller.tenant, caller.owner])
}

export function usePastCalls(history: CallHistory): readonly PastCall[] | undefined {
  return useKept('calls', () => history.list())
}

export function useSavedCalls(history: CallHistory): readonly SavedCall[] | undefined {
  return useKept('saved', () => history.saved())
}

function useKept<T>(what: string, read: () => Promise<T>): T | undefined {
  const { caller } = useWho()
  const queryKey = [HISTORY_KEY, what, caller.tenant, caller.owner]
  return useQuery({ queryKey, queryFn: read, staleTime: 0 }).data
}
