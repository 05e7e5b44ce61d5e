/** The call as code, in a language of choice. */
import { useState } from 'preact/hooks'
import { Copy } from '../../design/copy.tsx'
import { Segments } from '../../design/tabs.tsx'
import { texts } from '../../texts/en/explore.ts'
import { RowView } from '../results/row-view.tsx'
import { isKeyed } from '../wires/opencall.ts'
import { SNIPPETS } from './index.ts'
import type { SnippetCall, SnippetId } from './snippet.ts'

export function SnippetsView({ call }: { call: SnippetCall }) {
  const [chosen, setChosen] = useState<SnippetId>('curl')
  const text = SNIPPETS.find(({ id }) => id === chosen)?.write(call)
  return (
    <div class="snippets">
      <div class="value-tools">
        <Segments<SnippetId>
          label={texts.snippet}
          value={chosen}
          options={SNIPPETS.map(({ id, title }) => ({ name: id, label: title }))}
          onChange={setChosen}
        />
        <span class="spring" />
        {text !== undefined && <Copy text={text} />}
      </div>
      {text === undefined ? (
        <p class="quiet body">{texts.noSnippet}</p>
      ) : (
        <RowView text={text} language={chosen === 'mcp' ? 'json' : 'text'} label={texts.tabs.snippets} />
      )}
      {call.withToken && chosen !== 'mcp' && <p class="faint body">{texts.snippetToken}</p>}
      {isKeyed(call.entry) && <p class="faint body">{texts.snippetKey}</p>}
    </div>
  )
}
