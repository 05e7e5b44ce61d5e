/** Text of a known or guessed kind, with a choice of views. */
import { useState } from 'preact/hooks'
import { Segments } from '../../design/tabs.tsx'
import { lazily } from '../../shell/lazily.tsx'
import { texts } from '../../texts/en/explore.ts'
import { BlobView } from './blob-view.tsx'
import type { Preview } from './preview.ts'
import { RowView } from './row-view.tsx'

const CsvView = lazily(async () => (await import('./csv-view.tsx')).CsvView)
const MarkdownView = lazily(async () => (await import('./markdown-view.tsx')).MarkdownView)

/** A longer document is shown as text. */
const MAX_MARKDOWN = 500_000

type View = 'json' | 'text' | 'markdown' | 'table' | 'source' | 'picture'

interface TextViewsProps {
  text: string
  preview: Preview
  /** JSON text of the string itself, if the result was a string. */
  json?: string
  /** For the picture of an SVG. */
  blob?: Blob
}

export function TextViews({ text, preview, json, blob }: TextViewsProps) {
  const views = viewsOf(preview, text, json, blob)
  const [chosen, setChosen] = useState<View>()
  const view = chosen !== undefined && views.includes(chosen) ? chosen : (views[0] as View)
  return (
    <>
      {views.length > 1 && (
        <div class="view-choice">
          <Segments<View>
            label={texts.viewAs}
            value={view}
            options={views.map((name) => ({ name, label: texts.views[name] }))}
            onChange={setChosen}
          />
        </div>
      )}
      <TextView view={view} text={text} json={json} blob={blob} />
    </>
  )
}

function viewsOf(preview: Preview, text: string, json: string | undefined, blob: Blob | undefined): View[] {
  const own: View[] = json === undefined ? [] : ['json']
  const short = text.length <= MAX_MARKDOWN
  switch (preview) {
    case 'json':
      return ['json']
    case 'svg':
      return blob ? ['picture', 'source'] : ['source']
    case 'markdown':
      return short ? ['markdown', 'source', ...own] : ['source']
    case 'csv':
      return ['table', 'source', ...own]
    default:
      return json !== undefined && short ? ['text', 'json', 'markdown'] : ['text', ...own]
  }
}

interface TextViewProps {
  view: View
  text: string
  json: string | undefined
  blob: Blob | undefined
}

function TextView({ view, text, json, blob }: TextViewProps) {
  switch (view) {
    case 'markdown':
      return <MarkdownView text={text} />
    case 'table':
      return <CsvView text={text} />
    case 'picture':
      return blob ? <BlobView blob={blob} preview="svg" /> : null
    case 'json':
      return <RowView text={json ?? text} language="json" label={texts.result} />
    default:
      return <RowView text={text} language="text" label={texts.result} />
  }
}
