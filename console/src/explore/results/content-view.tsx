/** Content of a tool's result (MCP, Tool Execution API): each item as its type wants it. */
import { useMemo } from 'preact/hooks'
import { SeenText } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/explore.ts'
import { BlobView } from './blob-view.tsx'
import type { ContentItem } from './content.ts'
import { isTextual, previewOf } from './preview.ts'
import { RowView } from './row-view.tsx'
import { TextViews } from './text-views.tsx'

export function ContentView({ items }: { items: readonly ContentItem[] }) {
  return (
    <ul class="contents">
      {items.map((item, at) => (
        <li key={at}>
          <Item item={item} />
        </li>
      ))}
    </ul>
  )
}

function Item({ item }: { item: ContentItem }) {
  const { type, text, data, mimeType = '', uri, name, resource } = item
  if (type === 'text' && text !== undefined) return <TextViews text={text} preview="text" json={JSON.stringify(text)} />
  if ((type === 'image' || type === 'audio') && data !== undefined) return <Encoded base64={data} mimeType={mimeType} />
  if (type === 'resource' && resource) return <Resource resource={resource} />
  if (type === 'resource_link' && uri !== undefined) {
    // Not a link: the address may be of any scheme, and only a person can tell where it leads.
    return (
      <p class="body">
        <span class="chip">{mimeType || type}</span> <SeenText text={name ?? uri} />{' '}
        <code class="faint">
          <SeenText text={uri} />
        </code>
      </p>
    )
  }
  return <RowView text={JSON.stringify(item)} language="json" label={texts.result} />
}

function Resource({ resource }: { resource: NonNullable<ContentItem['resource']> }) {
  const { uri = '', mimeType = 'text/plain', text, blob } = resource
  return (
    <figure>
      <figcaption class="faint">
        <SeenText text={texts.resource(uri)} />
      </figcaption>
      {text !== undefined && <TextViews text={text} preview={previewOf(mimeType)} />}
      {text === undefined && blob !== undefined && <Encoded base64={blob} mimeType={mimeType} />}
    </figure>
  )
}

function Encoded({ base64, mimeType }: { base64: string; mimeType: string }) {
  const blob = useMemo(() => decode(base64, mimeType), [base64, mimeType])
  const preview = previewOf(mimeType)
  if (!blob) return <RowView text={base64} language="text" label={texts.result} />
  return isTextual(preview) && preview !== 'svg' ? (
    <p class="body">{texts.binary}</p>
  ) : (
    <BlobView blob={blob} preview={preview} />
  )
}

function decode(base64: string, mimeType: string): Blob | undefined {
  try {
    return new Blob([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], { type: mimeType })
  } catch {
    return undefined
  }
}
