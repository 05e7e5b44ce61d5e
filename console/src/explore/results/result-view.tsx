/** The result of a call: a value, or a file. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Copy } from '../../design/copy.tsx'
import { Skeleton } from '../../design/feedback.tsx'
import { SaveButton } from '../../design/save-file.tsx'
import { Segments } from '../../design/tabs.tsx'
import { lazily } from '../../shell/lazily.tsx'
import { texts } from '../../texts/en/explore.ts'
import type { ReadFile } from '../run/fetch-file.ts'
import { BlobView } from './blob-view.tsx'
import { contentIn } from './content.ts'
import { isTextual, type Preview, previewOf } from './preview.ts'
import { RowView } from './row-view.tsx'
import { TextViews } from './text-views.tsx'

const ContentView = lazily(async () => (await import('./content-view.tsx')).ContentView)

/** More is not put into the clipboard at once. */
const MAX_COPIED = 5_000_000

/** `mediaType` is what the schema says of a result that is text: `contentMediaType`. */
export function ValueView({ json, name, mediaType }: { json: string; name: string; mediaType?: string | undefined }) {
  const items = useMemo(() => contentIn(json), [json])
  const [view, setView] = useState<'content' | 'json'>('content')
  const text = useMemo(() => (json.startsWith('"') ? (JSON.parse(json) as string) : undefined), [json])
  return (
    <div class="result-value">
      <div class="value-tools">
        <span class="faint number">{texts.size(json.length)}</span>
        {items && (
          <Segments<'content' | 'json'>
            label={texts.viewAs}
            value={view}
            options={[
              { name: 'content', label: texts.views.content },
              { name: 'json', label: texts.views.json },
            ]}
            onChange={setView}
          />
        )}
        <span class="spring" />
        {json.length <= MAX_COPIED && <Copy text={text ?? json} label={texts.copyResult} />}
        <SaveButton blob={() => new Blob([json], { type: 'application/json' })} name={`${name}.json`} />
      </div>
      {items && view === 'content' && <ContentView items={items} />}
      {!(items && view === 'content') &&
        (text === undefined ? (
          <RowView text={json} language="json" label={texts.result} />
        ) : (
          <TextViews text={text} preview={mediaType ? previewOf(mediaType) : 'text'} json={json} />
        ))}
    </div>
  )
}

export function FileView({ file, name }: { file: ReadFile; name: string }) {
  const { blob } = file
  const preview = previewOf(blob.type)
  return (
    <div class="result-value">
      <div class="value-tools">
        {file.name && <span class="mono">{file.name}</span>}
        <span class="faint">
          {blob.type} · {texts.size(blob.size)}
        </span>
        <span class="spring" />
        <SaveButton blob={blob} name={file.name ?? name} />
      </div>
      {file.json !== undefined && <RowView text={file.json} language="json" label={texts.result} />}
      {isTextual(preview) ? <TextFile blob={blob} preview={preview} /> : <BlobView blob={blob} preview={preview} />}
    </div>
  )
}

function TextFile({ blob, preview }: { blob: Blob; preview: Preview }) {
  const [text, setText] = useState<string>()
  useEffect(() => {
    let isGone = false
    void blob.text().then((read) => !isGone && setText(read))
    return () => {
      isGone = true
    }
  }, [blob])
  return text === undefined ? <Skeleton /> : <TextViews text={text} preview={preview} blob={blob} />
}
