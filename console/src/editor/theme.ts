/** The editor in the colours of the page: custom properties reach into the shadow root. */
import { EditorView } from '@codemirror/view'

export const EDITOR_THEME = EditorView.theme({
  '&': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--r-s)',
    fontSize: 'var(--f-xs)',
    minHeight: '16rem',
    maxHeight: '36rem',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', minHeight: '16rem' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    minHeight: '16rem !important',
    backgroundColor: 'var(--sunken)',
    color: 'var(--text-3)',
    border: 'none',
  },
  '.cm-activeLine': { backgroundColor: 'color-mix(in oklab, var(--hover) 55%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-soft)', outline: 'none' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--r-s)',
    boxShadow: 'var(--shadow-high)',
    fontFamily: 'var(--sans)',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)' },
  '.cm-completionDetail': { color: 'var(--text-2)', fontStyle: 'normal' },
  'li[aria-selected] .cm-completionDetail': { color: 'var(--on-accent)' },
  '.cm-schema-hover': { padding: '0.5rem 0.75rem', maxWidth: '28rem', whiteSpace: 'pre-line' },
  // The images that CodeMirror has for these are data URLs, which the page's policy forbids.
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)' },
  '.cm-lint-marker-error': { content: 'none', borderRadius: '50%', backgroundColor: 'var(--bad)' },
  '.cm-lint-marker-warning': { content: 'none', backgroundColor: 'var(--warn)' },
  '.cm-lint-marker': { width: '0.6em', height: '0.6em', margin: '0.4em 0.2em' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunken)', color: 'var(--text-2)', border: 'none' },
})
