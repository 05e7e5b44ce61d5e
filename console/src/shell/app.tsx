/** The whole page: what the session allows, in its frame, with the overlays above. */
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/preact-query'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { isFault } from '../../../src/client/fault.ts'
import type { WhoAmI } from '../api/types.ts'
import { Button } from '../design/button.tsx'
import { Empty } from '../design/feedback.tsx'
import { texts as keyTexts } from '../texts/en/palette.ts'
import { texts } from '../texts/en/shell.ts'
import { Frame } from './frame.tsx'
import { KeyHelp } from './help.tsx'
import { useKeys } from './keys.ts'
import { LoginScreen, SignInAgain } from './login.tsx'
import { may, type Page, PageContext, usePage, useWho } from './page.ts'
import { Palette } from './palette.tsx'
import { ToastList } from './toasts.tsx'

export function App({ page }: { page: Page }) {
  const [queries] = useState(createQueries)
  return (
    <PageContext.Provider value={page}>
      <QueryClientProvider client={queries}>
        <Contents page={page} />
        <ToastList />
      </QueryClientProvider>
    </PageContext.Provider>
  )
}

function Contents({ page }: { page: Page }) {
  const { session } = page.server
  const state = session.state.value
  useEffect(() => {
    if (state.kind !== 'unreachable') return
    const again = () => void session.start()
    window.addEventListener('online', again)
    return () => window.removeEventListener('online', again)
  }, [state.kind, session])
  if (state.kind === 'starting') return <p class="starting">{texts.starting}</p>
  if (state.kind === 'out') return <LoginScreen state={state} />
  if (state.kind === 'in')
    return (
      <>
        <SignedIn />
        {session.isExpired.value && <SignInAgain />}
      </>
    )
  const isAnswer = isFault(state.error) && state.error.code !== 'UNREACHABLE'
  return (
    <Empty icon="plug" isWholeScreen title={isAnswer ? texts.refused : texts.unreachable.title}>
      {!isAnswer && <p>{texts.unreachable.text}</p>}
      <p class="mono faint">{state.error.message}</p>
      <div class="actions">
        <Button tone="primary" icon="replay" onClick={() => session.start()}>
          {texts.unreachable.action}
        </Button>
      </div>
    </Empty>
  )
}

function SignedIn() {
  const { changes, drafts, ownRuns } = usePage()
  const who = useWho()
  const { tenant, owner } = who.caller
  // What one person typed is not shown to the next one.
  useEffect(() => () => drafts.clear(), [drafts, tenant, owner])
  const watches = may(who, 'callplane:read')
  useEffect(() => (watches ? changes.start(who) : undefined), [changes, who, watches])
  useEffect(() => () => ownRuns.leave(), [ownRuns, tenant, owner])
  const waiting = useWaitingApprovals(who)
  const [overlay, setOverlay] = useState<'palette' | 'help'>()
  const close = useCallback(() => setOverlay(undefined), [])
  const openHelp = useCallback(() => setOverlay('help'), [])
  useKeys([
    {
      key: 'mod+k',
      label: keyTexts.help.palette,
      run: () => setOverlay(overlay === 'palette' ? undefined : 'palette'),
    },
    { key: '?', label: keyTexts.help.help, run: openHelp },
  ])
  return (
    <>
      <Frame badges={waiting ? { approvals: waiting } : {}} openPalette={() => setOverlay('palette')} />
      {overlay === 'palette' && <Palette onClose={close} openHelp={openHelp} />}
      {overlay === 'help' && <KeyHelp onClose={close} />}
    </>
  )
}

/** The number beside "Approvals" in the rail. */
function useWaitingApprovals(who: WhoAmI): number | undefined {
  const { server, changes } = usePage()
  const waiting = useQuery({
    queryKey: ['approvals', 'count'],
    queryFn: async ({ signal }) =>
      (await server.call('v1:callplane.approvals.list', { limit: 100 }, signal)).approvals.length,
    enabled: may(who, 'callplane:approve'),
    refetchInterval: 30_000,
  })
  const { refetch } = waiting
  useEffect(
    () =>
      changes.listen((news, isReset) => {
        if (isReset || news.some(({ kind }) => kind === 'approval')) void refetch()
      }),
    [changes, refetch],
  )
  return waiting.data
}

/** The client of the package repeats what is worth repeating. A refusal does not change by asking again. */
function createQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: (count, error) => count < 2 && isFault(error, 'UNREACHABLE'),
        staleTime: 5_000,
        refetchOnWindowFocus: true,
        // The page must not wait for a browser that believes itself offline: the server may be on this machine.
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
}
