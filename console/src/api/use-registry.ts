/** What the server offers, for every part of the page: one query, so that all see the same. */
import { useQuery } from '@tanstack/preact-query'
import { usePage } from '../shell/page.ts'

export function useRegistry() {
  const { server } = usePage()
  return useQuery({
    queryKey: ['registry'],
    queryFn: ({ signal }) => server.registry(signal),
    staleTime: 60_000,
  })
}
