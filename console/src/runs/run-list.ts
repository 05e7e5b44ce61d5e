/** The pages of `calls.list` as one list that grows at its end. Rows never move: new runs are counted, not inserted. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/preact-query'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { CallFilter, CallPage, CallSummary, Change } from '../api/types.ts'
import { usePage } from '../shell/page.ts'
import { mayMatch } from './may-match.ts'

/** The most that the server gives at once. */
const PAGE = 200

interface Pages {
  pages: CallPage[]
  pageParams: unknown[]
}

export interface RunList {
  readonly runs: readonly CallSummary[] | undefined
  readonly error: Error | null
  readonly isLoading: boolean
  /** More can be loaded. */
  readonly hasMore: boolean
  /** The search stopped before its end, without enough rows. */
  readonly isCut: boolean
  /** Runs that began after the list was read. */
  readonly fresh: number
  more(): void
  refresh(): void
}

export function useRunList(filter: CallFilter, deadLetters = false): RunList {
  const { server, changes } = usePage()
  const queries = useQueryClient()
  const key = useMemo(() => ['calls', deadLetters, filter], [deadLetters, filter])
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const pages = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }): Promise<CallPage> => {
      const args = { ...filter, limit: PAGE, ...(pageParam && { after: pageParam }) }
      return server.call(deadLetters ? 'v1:callplane.deadletters.list' : 'v1:callplane.calls.list', args, signal)
    },
    initialPageParam: '',
    getNextPageParam: (last) => last.next,
    staleTime: Number.POSITIVE_INFINITY,
    // Changes are heard only while the list is shown, so it is read anew when a person comes back to it.
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  const runs = useMemo(() => pages.data?.pages.flatMap((page) => page.calls), [pages.data])
  useEffect(() => {
    setFresh(new Set())
    return changes.listen((news, isReset) => {
      if (isReset) {
        setFresh(new Set())
        void queries.invalidateQueries({ queryKey: key })
      }
      const calls = news.filter(({ kind }) => kind === 'call')
      const newest = queries.getQueryData<Pages>(key)?.pages[0]?.calls[0]?.id ?? ''
      // Ids are times: a larger one is a later call.
      const later = calls.filter((change) => change.id > newest && mayMatch(filter, change))
      if (later.length > 0) setFresh((before) => new Set([...before, ...later.map(({ id }) => id)]))
      queries.setQueryData<Pages>(key, (before) => before && withStates(before, calls))
    })
  }, [changes, queries, key, filter])
  const last = pages.data?.pages.at(-1)
  return {
    runs,
    error: pages.error,
    isLoading: pages.isFetching,
    hasMore: pages.hasNextPage,
    isCut: last !== undefined && !last.complete,
    fresh: fresh.size,
    more: () => {
      if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage()
    },
    refresh: () => {
      setFresh(new Set())
      void queries.resetQueries({ queryKey: key })
      void queries.invalidateQueries({ queryKey: ['count'] })
    },
  }
}

function withStates(data: Pages, changes: readonly Change[]): Pages {
  const newest = new Map(changes.map((change) => [change.id, change]))
  const isKnown = data.pages.some(({ calls }) => calls.some(({ id }) => newest.has(id)))
  if (!isKnown) return data
  return {
    ...data,
    pages: data.pages.map((page) => ({ ...page, calls: page.calls.map((call) => changed(call, newest)) })),
  }
}

function changed(call: CallSummary, changes: ReadonlyMap<string, Change>): CallSummary {
  const change = changes.get(call.id)
  if (!change || change.state === call.state) return call
  const { held: _over, ...rest } = call
  const hasEnded = change.state === 'complete' || change.state === 'error'
  const durationMs = Date.parse(change.at) - Date.parse(call.createdAt)
  return { ...rest, state: change.state, ...(hasEnded && { endedAt: change.at, durationMs }) }
}
