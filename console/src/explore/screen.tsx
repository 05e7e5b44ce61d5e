/** The explorer: every operation of the server. */
import { useQuery } from '@tanstack/preact-query'
import { Failure, Skeleton } from '../design/feedback.tsx'
import { href } from '../routes.ts'
import { usePage } from '../shell/page.ts'

export function ExploreScreen() {
  const { server } = usePage()
  const registry = useQuery({ queryKey: ['registry'], queryFn: ({ signal }) => server.registry(signal) })
  if (registry.error) return <Failure error={registry.error} retry={() => void registry.refetch()} />
  if (!registry.data) return <Skeleton />
  return (
    <ul class="screen">
      {registry.data.operations.map(({ op }) => (
        <li key={op}>
          <a href={href('operation', { op })}>{op}</a>
        </li>
      ))}
    </ul>
  )
}
