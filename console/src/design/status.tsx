/** The state of a call: a sign and a word, so that the colour is never the only difference. */
import { texts } from '../texts/en/design.ts'
import { Icon, type IconName } from './icon.tsx'

const LOOKS: Record<string, { tone: string; icon: IconName }> = {
  accepted: { tone: 'idle', icon: 'clock' },
  pending: { tone: 'busy', icon: 'busy' },
  streaming: { tone: 'busy steady', icon: 'streams' },
  complete: { tone: 'ok', icon: 'done' },
  error: { tone: 'bad', icon: 'cross' },
  held: { tone: 'warn', icon: 'pause' },
  canceled: { tone: 'idle', icon: 'stop' },
}

interface Known {
  state: string
  held?: boolean | undefined
  code?: string | undefined
}

export function Status({ call }: { call: Known }) {
  const state = call.held ? 'held' : call.state === 'error' && call.code === 'CANCELED' ? 'canceled' : call.state
  const look = LOOKS[state] ?? { tone: 'idle', icon: 'info' as const }
  const words: Record<string, string> = texts.states
  return (
    <span class={`status ${look.tone}`}>
      <Icon name={look.icon} />
      {words[state] ?? state}
    </span>
  )
}
