/** A preview of one run beside the list; it fills a small screen. */
import { IconButton, LinkButton } from '../design/button.tsx'
import { href } from '../routes.ts'
import { RunSummary } from '../run/summary.tsx'
import { texts } from '../texts/en/runs.ts'

interface PeekProps {
  id: string
  onClose(): void
  onMove(by: number): void
}

export function Peek({ id, onClose, onMove }: PeekProps) {
  return (
    <aside class="peek" aria-label={texts.peek}>
      <header>
        <IconButton icon="up" size="small" label={texts.keys.previous} onClick={() => onMove(-1)} />
        <IconButton icon="down" size="small" label={texts.keys.next} onClick={() => onMove(1)} />
        <span class="space" />
        <LinkButton size="small" href={href('run', { id })}>
          {texts.open}
        </LinkButton>
        <IconButton icon="close" size="small" label={texts.closePeek} onClick={onClose} />
      </header>
      <RunSummary key={id} id={id} />
    </aside>
  )
}
