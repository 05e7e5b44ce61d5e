/** One run, read again whenever the server says that it changed. */
import { useQuery } from '@tanstack/preact-query'
import { useEffect } from 'preact/hooks'
import type { CallDetails } from '../api/types.ts'
import { usePage } from '../shell/page.ts'

/** While the server reports no changes, a run that has not ended is read this often. */
const FALLBACK_MS = 5_000
/** A busy server may leave out changes. */
const SELDOM_MS = 30_000

export function useRun(id: string) {
  const { server, changes } = usePage()
  const run = useQuery({
    queryKey: ['run', id],
    queryFn: ({ signal }) => server.call('v1:callplane.calls.get', { id }, signal),
    refetchInterval: ({ state }) => (hasEnded(state.data) ? false : changes.isLive.value ? SELDOM_MS : FALLBACK_MS),
  })
  const { refetch } = run
  useEffect(
    () =>
      changes.listen((news, isReset) => {
        if (isReset || news.some((change) => change.id === id)) void refetch()
      }),
    [changes, id, refetch],
  )
  return run
}

export function hasEnded(details: CallDetails | undefined): boolean {
  return details?.call.state === 'complete' || details?.call.state === 'error'
}
