/** One run, read again whenever the server says that it changed. */
import { useQuery } from '@tanstack/preact-query'
import { useEffect } from 'preact/hooks'
import type { CallDetails } from '../api/types.ts'
import { usePage } from '../shell/page.ts'

/** While the server reports no changes, a run that has not ended is read this often. */
const FALLBACK_MS = 5_000

export function useRun(id: string) {
  const { server, changes } = usePage()
  const run = useQuery({
    queryKey: ['run', id],
    queryFn: ({ signal }) => server.call('v1:callplane.calls.get', { id }, signal),
    refetchInterval: ({ state }) => (hasEnded(state.data) || changes.isLive.value ? false : FALLBACK_MS),
  })
  const { refetch } = run
  useEffect(
    () =>
      changes.listen((news) => {
        if (news.some((change) => change.id === id)) void refetch()
      }),
    [changes, id, refetch],
  )
  return run
}

export function hasEnded(details: CallDetails | undefined): boolean {
  return details?.call.state === 'complete' || details?.call.state === 'error'
}
