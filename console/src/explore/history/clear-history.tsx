/** Deletes the past calls of this browser. Saved ones stay. */
import { useQueryClient } from '@tanstack/preact-query'
import { Button } from '../../design/button.tsx'
import { texts } from '../../texts/en/explore.ts'
import type { CallHistory } from './call-history.ts'
import { HISTORY_KEY, usePastCalls } from './use-history.ts'

export function ClearHistory({ history }: { history: CallHistory }) {
  const calls = usePastCalls(history)
  const queries = useQueryClient()
  return (
    <Button
      size="small"
      disabled={calls === undefined || calls.length === 0}
      onClick={async () => {
        await history.clear()
        await queries.invalidateQueries({ queryKey: [HISTORY_KEY] })
      }}
    >
      {texts.history.clear}
    </Button>
  )
}
