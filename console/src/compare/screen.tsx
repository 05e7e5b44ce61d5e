/** Two runs side by side: their facts, and the structural difference of their arguments and results. */
import { useMutation } from '@tanstack/preact-query'
import type { CallDetails, Payload } from '../api/types.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { ScreenHead } from '../design/screen.tsx'
import { Status } from '../design/status.tsx'
import { Tabs } from '../design/tabs.tsx'
import { DiffTable } from '../diff/diff-table.tsx'
import { compare } from '../diff/structure.ts'
import { href } from '../routes.ts'
import { Facts } from '../run/facts.tsx'
import { useRun } from '../run/use-run.ts'
import { useMay, usePage } from '../shell/page.ts'
import { texts } from '../texts/en/run.ts'
import './compare.css'

type Part = keyof typeof texts.compare.parts

export function CompareScreen() {
  const place = usePage().router.place.value
  if (place?.name !== 'compare') return null
  const { a, b } = place.params
  const { part = '' } = place.query
  const shown = Object.hasOwn(texts.compare.parts, part) ? (part as Part) : 'args'
  return <Comparison key={a + b} a={a} b={b} part={shown} />
}

function Comparison({ a, b, part }: { a: string; b: string; part: Part }) {
  const [one, other] = [useRun(a), useRun(b)]
  const tabs = Object.entries(texts.compare.parts).map(([name, label]) => ({
    name,
    label,
    href: href('compare', { a, b }, { part: name }),
  }))
  return (
    <div class="screen">
      <ScreenHead title={texts.compare.title}>
        <LinkButton icon="compare" href={href('compare', { a: b, b: a }, { part })}>
          {texts.compare.swap}
        </LinkButton>
      </ScreenHead>
      <div class="compare-sides">
        <Side title={texts.compare.sides.before} id={a} details={one.data} error={one.error} />
        <Side title={texts.compare.sides.after} id={b} details={other.data} error={other.error} />
      </div>
      <Tabs tabs={tabs} current={part} label={texts.tabsLabel} />
      <PartDifference key={part} a={a} b={b} part={part} />
    </div>
  )
}

interface SideProps {
  title: string
  id: string
  details: CallDetails | undefined
  error: Error | null
}

function Side({ title, id, details, error }: SideProps) {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <LinkButton size="small" href={href('run', { id })}>
          {texts.compare.open}
        </LinkButton>
      </header>
      <div class="body">
        {error && <Failure error={error} />}
        {!details && !error && <Skeleton lines={4} />}
        {details && (
          <>
            <p class="mono">{details.call.operation}</p>
            <p>
              <Status call={details.call} />
            </p>
            <Facts details={details} />
          </>
        )}
      </div>
    </section>
  )
}

/** Reading payloads is recorded, so it is the person's choice. */
function PartDifference({ a, b, part }: { a: string; b: string; part: Part }) {
  const { server } = usePage()
  const may = useMay()
  const read = useMutation({
    mutationFn: () =>
      Promise.all(
        [a, b].map((id) =>
          // A run without this part is one side of the difference, not a failure.
          server.call('v1:callplane.calls.payload', { id, part, bytes: MOST }).catch((thrown: unknown) => {
            if (isAbsent(thrown)) return undefined
            throw thrown
          }),
        ),
      ),
  })
  if (!read.data) {
    return (
      <Empty icon="eye" title={texts.payload.hidden}>
        <p>{may('callplane:payloads') ? texts.payload.why : texts.payload.noScope}</p>
        {read.error && <Failure error={read.error} />}
        {may('callplane:payloads') && (
          <div class="actions">
            <Button tone="primary" icon="eye" disabled={read.isPending} onClick={() => read.mutate()}>
              {texts.compare.show}
            </Button>
          </div>
        )}
      </Empty>
    )
  }
  const [before, after] = read.data
  if (!before && !after) return <p class="quiet">{texts.compare.noPart}</p>
  if (before?.complete === false || after?.complete === false) return <p class="quiet">{texts.compare.tooLarge}</p>
  return (
    <DiffTable
      differences={compare(readValue(before), readValue(after))}
      sides={texts.compare.sides}
      label={texts.compare.parts[part]}
    />
  )
}

const MOST = 262_144

function isAbsent(thrown: unknown): boolean {
  return thrown instanceof Error && 'status' in thrown && thrown.status === 404
}

function readValue(payload: Payload | undefined): unknown {
  if (!payload) return undefined
  try {
    return JSON.parse(payload.text)
  } catch {
    return payload.text
  }
}
