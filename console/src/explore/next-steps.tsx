/** After the first result of the quickstart: what to try next. */
import { Icon } from '../design/icon.tsx'
import { href } from '../routes.ts'
import { texts } from '../texts/en/explore.ts'
import type { Entry } from './wires/wire.ts'

export const FIRST = 'v1:Calculator.Add'

const STEPS = [
  { op: 'v1:Reports.Generate', text: texts.next.progress },
  { op: 'v1:Orders.Refund', text: texts.next.governed },
] as const

export function NextSteps({ op, entries }: { op: string; entries: readonly Entry[] }) {
  const steps = STEPS.filter((step) => step.op !== op && entries.some((entry) => entry.op === step.op))
  if ((op !== FIRST && !STEPS.some((step) => step.op === op)) || steps.length === 0) return null
  return (
    <nav class="next-steps" aria-label={texts.next.title}>
      <span class="faint">{texts.next.title}</span>
      {steps.map((step) => (
        <a key={step.op} class="chip" href={href('operation', { op: step.op })}>
          {step.text} <Icon name="right" size={12} />
        </a>
      ))}
    </nav>
  )
}
