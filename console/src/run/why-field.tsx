/** Why a person changes a call. The server requires it, and keeps it with the request. */
import { useRef, useState } from 'preact/hooks'
import { TextField } from '../design/field.tsx'
import { texts } from '../texts/en/run.ts'

/** As the server's schema has it. */
const MOST = 1_000

export interface Why {
  text: string
  problem: string | undefined
  set(text: string): void
  /** Calls `act` with the reason. Without one, the field says that it is missing, and gets the focus. */
  given(act: (why: string) => void): void
  field: { current: HTMLDivElement | null }
}

export function useWhy(): Why {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const field = useRef<HTMLDivElement>(null)
  return {
    text,
    problem,
    field,
    set(typed) {
      setText(typed)
      setProblem(undefined)
    },
    given(act) {
      const why = text.trim()
      if (why !== '') return act(why)
      setProblem(texts.why.missing)
      field.current?.querySelector('input')?.focus()
    },
  }
}

export function WhyField({ why, autoFocus }: { why: Why; autoFocus?: boolean }) {
  return (
    <div ref={why.field}>
      <TextField
        label={texts.why.label}
        hint={texts.why.hint}
        problem={why.problem}
        value={why.text}
        maxLength={MOST}
        autoFocus={autoFocus}
        aria-required="true"
        onInput={(event) => why.set(event.currentTarget.value)}
      />
    </div>
  )
}
