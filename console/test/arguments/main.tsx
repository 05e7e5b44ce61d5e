/**
 * The arguments of one operation of the server, alone on a page, for tests: `#v1:Keyword.Enum`. The text is sent as it
 * is, so that tests see what arrives. Hostile schemas that a server would not take are given by the test itself.
 */
import { signal } from '@preact/signals'
import { render } from 'preact'
import { useState } from 'preact/hooks'
import type { MediaSlot } from '../../src/forms/arguments-view.tsx'
import {
  type ArgumentsLayout,
  type ArgumentsState,
  ArgumentsView,
  type Attachments,
  startArguments,
  withoutSensitive,
} from '../../src/forms/arguments-view.tsx'
import { createKeys } from '../../src/shell/keys.ts'
import { type Page, PageContext } from '../../src/shell/page.ts'

interface Shown {
  op: string
  schema: unknown
  media?: readonly MediaSlot[] | undefined
}

function Arguments({ op, schema, media }: Shown) {
  const [text, setText] = useState(() => startArguments(schema))
  const [view, setView] = useState<ArgumentsLayout>('form')
  const [state, setState] = useState<ArgumentsState>()
  const [attachments, setAttachments] = useState<Attachments>({})
  const [reply, setReply] = useState('')
  const run = async () => {
    const response = await fetch('../call', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"op":${JSON.stringify(op)},"args":${text}}`,
    })
    setReply(await response.text())
  }
  return (
    <>
      <h1>{op}</h1>
      <ArgumentsView
        text={text}
        onText={setText}
        schema={schema}
        view={view}
        onView={setView}
        media={media}
        attachments={attachments}
        onAttachments={setAttachments}
        onState={setState}
      />
      <button type="button" onClick={run}>
        Run
      </button>
      <pre id="text">{text}</pre>
      <pre id="shared">{withoutSensitive(text, schema) ?? ''}</pre>
      <pre id="state">{JSON.stringify(state)}</pre>
      <pre id="files">{Object.keys(attachments).join()}</pre>
      <pre id="reply">{reply}</pre>
    </>
  )
}

async function start(root: HTMLElement): Promise<void> {
  const op = decodeURIComponent(location.hash.slice(1))
  const shown = op.startsWith('{') ? { op: 'given', schema: JSON.parse(op) } : await fromRegistry(op)
  // A key of its own: other arguments begin anew.
  render(
    <PageContext.Provider value={page}>
      <Arguments key={location.hash} {...shown} />
    </PageContext.Provider>,
    root,
  )
}

async function fromRegistry(op: string): Promise<Shown> {
  const registry = await (await fetch('../.well-known/ops')).json()
  const entry = registry.operations.find((each: { op: string }) => each.op === op)
  return { op, schema: entry.argsSchema, media: entry.mediaSchema }
}

/** Of the page, the arguments use the keys only. */
const page = { keys: createKeys(window, signal(true)) } as Page
const root = document.getElementById('app')
if (root) {
  void start(root)
  window.addEventListener('hashchange', () => void start(root))
}
