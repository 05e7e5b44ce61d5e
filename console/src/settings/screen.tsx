/** What a person chose and keeps in this browser, and who they are to the server. */
import { ScreenHead } from '../design/screen.tsx'
import type { CallHistory } from '../explore/history/call-history.ts'
import { ClearHistory } from '../explore/history/clear-history.tsx'
import { SavedCalls } from '../explore/history/saved-calls.tsx'
import { useHistory, usePastCalls } from '../explore/history/use-history.ts'
import { PreferenceRows } from '../shell/preference-rows.tsx'
import { texts } from '../texts/en/settings.ts'
import { SavedViewList } from './saved-view-list.tsx'
import { SessionPanel } from './session-panel.tsx'
import './settings.css'

export function SettingsScreen() {
  const history = useHistory()
  return (
    <div class="screen settings">
      <ScreenHead title={texts.title} lead={texts.lead} />
      <section class="panel" aria-label={texts.looks}>
        <header>
          <h2>{texts.looks}</h2>
        </header>
        <div class="choices">
          <PreferenceRows />
          <p class="faint">{texts.keysHint}</p>
        </div>
      </section>
      <section class="panel" aria-label={texts.history.title}>
        <header>
          <h2>{texts.history.title}</h2>
          {history && <ClearHistory history={history} />}
        </header>
        <div class="body">
          <p class="quiet">{texts.history.text}</p>
          {history ? <HistoryCount history={history} /> : <p>{texts.history.unavailable}</p>}
        </div>
      </section>
      {history && (
        <div class="panel">
          <SavedCalls history={history} />
        </div>
      )}
      <SavedViewList />
      <SessionPanel />
    </div>
  )
}

function HistoryCount({ history }: { history: CallHistory }) {
  const calls = usePastCalls(history)
  return <p class="number">{calls && texts.history.count(calls.length)}</p>
}
