/** A labelled input with its hint and its problem, which a screen reader hears with it. */
import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { classes } from './button.tsx'

interface FieldProps {
  label: string
  hint?: ComponentChildren
  problem?: string | undefined
  mono?: boolean
}

export function TextField({
  label,
  hint,
  problem,
  mono,
  multiline,
  ...rest
}: FieldProps & { multiline?: boolean; rows?: number } & Omit<JSX.IntrinsicElements['input'], 'label'>) {
  const id = useId()
  const Input = (multiline ? 'textarea' : 'input') as 'input'
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Input
        id={id}
        class={classes('input', mono && 'mono')}
        aria-invalid={problem ? 'true' : undefined}
        aria-describedby={hint || problem ? `${id}-more` : undefined}
        {...rest}
      />
      {(problem || hint) && (
        <span id={`${id}-more`} class={problem ? 'problem' : 'hint'}>
          {problem ?? hint}
        </span>
      )}
    </div>
  )
}

export function Check({ label, checked, onChange }: { label: string; checked: boolean; onChange(to: boolean): void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  )
}
