/** The saved calls of this browser: open one, delete one, and all of them as a file. */
import { useQueryClient } from '@tanstack/preact-query'
import { KeptList } from '../../design/kept-list.tsx'
import { usePage } from '../../shell/page.ts'
import { texts } from '../../texts/en/explore.ts'
import { type CallHistory, exportSaved, importSaved } from './call-history.ts'
import { hrefOfSaved } from './open-saved.ts'
import { HISTORY_KEY, useSavedCalls } from './use-history.ts'

export function SavedCalls({ history }: { history: CallHistory }) {
  const { toasts, router } = usePage()
  const queries = useQueryClient()
  const calls = useSavedCalls(history) ?? []
  const changed = () => queries.invalidateQueries({ queryKey: [HISTORY_KEY] })
  return (
    <KeptList
      title={texts.history.saved}
      empty={texts.history.noSaved}
      file={{ name: 'saved-calls.json', text: () => exportSaved(calls) }}
      onFile={async (text) => {
        const imported = importSaved(text)
        if (!imported) return toasts.show({ text: texts.history.badFile, tone: 'bad' })
        for (const call of imported) await history.save(call)
        await changed()
        toasts.show({ text: texts.history.imported(imported.length), tone: 'ok' })
      }}
      items={calls.map((call) => ({
        key: call.id,
        name: call.name,
        detail: call.op,
        open: async () => router.go(await hrefOfSaved(call)),
        forget: async () => {
          await history.forget(call.id)
          await changed()
        },
      }))}
    />
  )
}
