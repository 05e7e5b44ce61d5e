/** The saved views of the runs: open one, delete one, and all of them as a file. */
import { KeptList } from '../design/kept-list.tsx'
import { href } from '../routes.ts'
import { exportViews, importViews } from '../runs/saved-views.ts'
import { useMay, usePage, useSavedViews } from '../shell/page.ts'
import { texts } from '../texts/en/settings.ts'

export function SavedViewList() {
  const { router, toasts } = usePage()
  const may = useMay()
  const views = useSavedViews()
  const list = views.list.value
  if (!may('callplane:read')) return null
  return (
    <div class="panel">
      <KeptList
        title={texts.views.title}
        empty={texts.views.empty}
        file={{ name: 'saved-views.json', text: () => exportViews(list) }}
        onFile={(text) => {
          const imported = importViews(text)
          if (!imported) return toasts.show({ text: texts.views.badFile, tone: 'bad' })
          views.save(...imported)
          toasts.show({ text: texts.views.imported(imported.length), tone: 'ok' })
        }}
        items={list.map(({ name, filter }) => ({
          key: name,
          name,
          detail: filter,
          open: () => router.go(href('runs', {}, { f: filter })),
          forget: () => views.forget(name),
        }))}
      />
    </div>
  )
}
