/** Who the page acts for, what they may do, and until when. */
import type { WhoAmI } from '../api/types.ts'
import { Button } from '../design/button.tsx'
import { type Fact, FactList } from '../design/fact-list.tsx'
import { durationOf, Time } from '../design/time.tsx'
import { usePage, useWho } from '../shell/page.ts'
import { texts } from '../texts/en/settings.ts'

export function SessionPanel() {
  const { server } = usePage()
  const who = useWho()
  const words = texts.session
  return (
    <section class="panel" aria-label={words.title}>
      <header>
        <h2>{words.title}</h2>
        {who.session && (
          <Button size="small" icon="out" onClick={() => void server.session.signOut()}>
            {words.signOut}
          </Button>
        )}
      </header>
      <div class="body">
        <FactList facts={factsOf(who)} />
        {!who.session && <p class="quiet">{words.open}</p>}
      </div>
    </section>
  )
}

function factsOf({ caller, scopes, mode, session, server }: WhoAmI): Fact[] {
  const words = texts.session
  return [
    [words.caller, <span title={caller.owner}>{(caller.userId ?? caller.owner) || words.localCaller}</span>],
    [words.tenant, caller.tenant],
    [words.scopes, <Scopes scopes={scopes} />],
    [words.mode, words.modes[mode]],
    [
      words.ends,
      session && (
        <>
          <Time at={session.expiresAt} />
          {words.idle(durationOf(session.idleSeconds * 1000))}
        </>
      ),
    ],
    [words.server, [server.name, server.version].join(' ').trim()],
    [words.started, server.startedAt && <Time at={server.startedAt} />],
  ]
}

function Scopes({ scopes }: Pick<WhoAmI, 'scopes'>) {
  if (scopes.length === 0) return <>{texts.session.noScopes}</>
  return (
    <ul class="scopes">
      {scopes.map((scope) => (
        <li key={scope} class="chip mono">
          {scope}
        </li>
      ))}
    </ul>
  )
}
