/** One field for the whole filter, its terms as chips, and presets. All three change the same text. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { termsOf } from '../../../src/core/filter/terms.ts'
import { IconButton } from '../design/button.tsx'
import { Icon } from '../design/icon.tsx'
import { useKeys } from '../shell/keys.ts'
import { texts } from '../texts/en/filter.ts'
import { hasTerms, toggleTerms, withoutTerm } from './terms.ts'
import './filter.css'

interface FilterBarProps {
  text: string
  onChange(text: string): void
  presets: readonly { label: string; text: string }[]
  /** After the presets: the person's own views. */
  children?: ComponentChildren
  /** Terms that mean nothing. */
  unknown: readonly string[]
  placeholder: string
}

export function FilterBar({ text, onChange, presets, children, unknown, placeholder }: FilterBarProps) {
  const [typed, setTyped] = useState(text)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => setTyped(text), [text])
  useKeys([{ key: '/', label: texts.focus, run: () => input.current?.focus() }])
  return (
    <search class="filter">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onChange(typed.trim())
        }}
      >
        <Icon name="filter" />
        <input
          ref={input}
          type="text"
          aria-label={texts.label}
          aria-describedby={unknown.length > 0 ? 'filter-problem' : undefined}
          placeholder={placeholder}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onBlur={() => typed.trim() !== text && onChange(typed.trim())}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        {text !== '' && <IconButton icon="close" size="small" label={texts.clear} onClick={() => onChange('')} />}
      </form>
      <div class="chips">
        {presets.map((preset) => (
          <button
            key={preset.label}
            type="button"
            class="chip"
            aria-pressed={hasTerms(text, preset.text)}
            onClick={() => onChange(toggleTerms(text, preset.text))}
          >
            {preset.label}
          </button>
        ))}
        {children}
        {termsOf(text)
          .filter((term) => !presets.some((preset) => hasTerms(preset.text, text.slice(term.from, term.to))))
          .map((term) => (
            <span key={term.from} class="chip term">
              <span class="clip">{text.slice(term.from, term.to)}</span>
              <button
                type="button"
                aria-label={texts.remove(text.slice(term.from, term.to))}
                onClick={() => onChange(withoutTerm(text, term))}
              >
                <Icon name="close" size={12} />
              </button>
            </span>
          ))}
      </div>
      {unknown.length > 0 && (
        <p id="filter-problem" class="problem">
          {texts.unknown(unknown.join(' '))}
        </p>
      )}
    </search>
  )
}
