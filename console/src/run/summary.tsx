/** A run at a glance, for the preview beside the list. */
import { Failure, Skeleton } from '../design/feedback.tsx'
import { Status } from '../design/status.tsx'
import { Facts } from './facts.tsx'
import { Timeline } from './timeline.tsx'
import { useRun } from './use-run.ts'
import './run.css'

export function RunSummary({ id }: { id: string }) {
  const run = useRun(id)
  return (
    <div class="run-summary">
      {run.error && <Failure error={run.error} retry={() => void run.refetch()} />}
      {!run.data && !run.error && <Skeleton lines={8} />}
      {run.data && (
        <>
          <div>
            <Status call={run.data.call} />
            <h2 class="mono">{run.data.call.operation}</h2>
          </div>
          <Timeline details={run.data} />
          <Facts details={run.data} />
        </>
      )}
    </div>
  )
}
