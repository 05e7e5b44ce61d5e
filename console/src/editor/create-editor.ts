/**
 * CodeMirror in a shadow root: there it uses adopted style sheets, which the page's policy allows. The owner's text is
 * the truth: changes from outside become the smallest change of the editor's text, so that undo works across both views.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { Annotation, EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { Finding } from '../forms/fields/summary.tsx'
import type { FormModel } from '../forms/schema/model.ts'
import { completionsAt } from './completion.ts'
import { hoverAt } from './hover.ts'
import { smallestChange } from './smallest-change.ts'
import { EDITOR_THEME } from './theme.ts'

export interface EditorHandle {
  update(text: string): void
  /** Draws the findings anew. */
  showFindings(): void
  select(place: { start: number; end: number }): void
  destroy(): void
}

interface Options {
  text: string
  label: string
  onText(text: string): void
  model(): FormModel
  findings(): readonly Finding[]
}

/** Marks changes that come from the owner, so that they are not reported back. */
const fromOwner = Annotation.define<boolean>()

/**
 * Text that replaces a selection. Left to itself, the browser writes inline styles into what it inserts between coloured
 * words, and the page's policy forbids those.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection
    if (event.inputType !== 'insertText' || event.isComposing || event.data === null || main.empty) return false
    const insert = () => view.state.update(view.state.replaceSelection(event.data ?? ''), { userEvent: 'input.type' })
    const handlers = view.state.facet(EditorView.inputHandler)
    if (!handlers.some((handle) => handle(view, main.from, main.to, event.data ?? '', insert))) view.dispatch(insert())
    event.preventDefault()
    return true
  },
})

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
])

export function createEditor(host: HTMLElement, options: Options): EditorHandle {
  /** Texts that the owner has been told and has not given back yet. */
  const told: string[] = []
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const parent = document.createElement('div')
  root.append(parent)
  const view: EditorView = new EditorView({
    root,
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        json(),
        syntaxHighlighting(COLOURS),
        lintGutter(),
        autocompletion({ override: [(context) => completionsAt(options.model(), context)] }),
        hoverTooltip((_, at) => hoverAt(options.model(), view.state.doc.toString(), at)),
        EditorState.tabSize.of(2),
        // Ctrl+Enter belongs to the page: it runs the call.
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap.filter((binding) => binding.key !== 'Mod-Enter'),
          ...historyKeymap,
          ...foldKeymap,
          ...completionKeymap,
          ...lintKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false' }),
        EditorView.lineWrapping,
        EDITOR_THEME,
        replaceSelection,
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || update.transactions.every((each) => each.annotation(fromOwner))) return
          const text = update.state.doc.toString()
          told.push(text)
          options.onText(text)
        }),
      ],
    }),
  })
  const showFindings = () =>
    view.dispatch(setDiagnostics(view.state, diagnostics(options.findings(), view.state.doc.length)))
  showFindings()
  return {
    update(text) {
      // The owner gives back what was typed a moment ago. By now more has been typed, and it must stay.
      const known = told.indexOf(text)
      told.splice(0, known < 0 ? told.length : known + 1)
      if (known >= 0) return
      const changes = smallestChange(view.state.doc.toString(), text)
      // An edit of the form is one step of undo, apart from what was typed just before.
      if (changes) view.dispatch({ changes, annotations: [fromOwner.of(true), isolateHistory.of('full')] })
    },
    showFindings,
    select({ start, end }) {
      const limit = view.state.doc.length
      view.dispatch({ selection: { anchor: Math.min(start, limit), head: Math.min(end, limit) }, scrollIntoView: true })
      view.focus()
    },
    destroy() {
      view.destroy()
      parent.remove()
    },
  }
}

function diagnostics(findings: readonly Finding[], length: number): Diagnostic[] {
  return findings.map(({ start, end, severity, message }) => ({
    from: Math.min(start, length),
    to: Math.min(Math.max(end, start), length),
    severity,
    message,
  }))
}
