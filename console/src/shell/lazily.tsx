/** A component that is loaded when it is first shown. A failure offers a reload instead of an empty page. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from '../design/button.tsx'
import { Empty, Skeleton } from '../design/feedback.tsx'
import { texts } from '../texts/en/shell.ts'

type Loaded<Props> = { screen: ComponentType<Props> } | 'failed' | undefined

export function lazily<Props extends object = Record<never, never>>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let known: Loaded<Props>
  return function Lazy(props: Props) {
    const [loaded, setLoaded] = useState(known)
    useEffect(() => {
      if (loaded !== undefined) return
      load().then(
        (screen) => {
          known = { screen }
          setLoaded(known)
        },
        () => setLoaded('failed'),
      )
    }, [loaded])
    if (loaded === undefined)
      return (
        <div class="screen">
          <Skeleton lines={6} />
        </div>
      )
    if (loaded !== 'failed') return <loaded.screen {...props} />
    return (
      <Empty icon="plug" isWholeScreen title={texts.notLoaded.title}>
        <p>{texts.notLoaded.text}</p>
        <div class="actions">
          <Button tone="primary" onClick={() => location.reload()}>
            {texts.notLoaded.action}
          </Button>
        </div>
      </Empty>
    )
  }
}
