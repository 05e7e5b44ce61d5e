/** What a screen shows instead of its content: nothing there, still loading, failed. And notes above the content. */
import type { ComponentChildren } from 'preact'
import { isFault } from '../../../src/client/fault.ts'
import { href } from '../routes.ts'
import { texts } from '../texts/en/design.ts'
import { Button, classes } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

interface EmptyProps {
  icon: IconName
  title: string
  /** There is no other heading on the screen. */
  isWholeScreen?: boolean
  children?: ComponentChildren
}

/** Says what belongs here, why there is none, and offers a next step. */
export function Empty({ icon, title, isWholeScreen, children }: EmptyProps) {
  const Title = isWholeScreen ? 'h1' : 'h2'
  return (
    <div class="empty">
      <Icon name={icon} />
      <Title>{title}</Title>
      {children}
    </div>
  )
}

export function Notice({
  tone,
  icon,
  children,
}: {
  tone?: 'bad' | 'warn'
  icon?: IconName
  children: ComponentChildren
}) {
  return (
    <div class={classes('notice', tone)}>
      <Icon name={icon ?? (tone ? 'errors' : 'info')} />
      <div class="text">{children}</div>
    </div>
  )
}

/** A failure in the words of the server, with its code, which links to its page. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  const code = isFault(error) ? error.code : undefined
  return (
    <div class="notice bad" role="alert">
      <Icon name="errors" />
      <div class="text">
        <p>{error instanceof Error ? error.message : String(error)}</p>
        {code && (
          <p>
            <a href={href('error', { code })} title={texts.explainCode(code)} class="mono">
              {code}
            </a>
          </p>
        )}
      </div>
      {retry && (
        <Button size="small" icon="replay" onClick={retry}>
          {texts.retry}
        </Button>
      )}
    </div>
  )
}

/** Grey bars in the shape of lines. Screen readers hear one word. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div role="status" class="skeletons">
      <span class="only-read">{texts.loading}</span>
      {Array.from({ length: lines }, (_, line) => (
        <div
          key={line}
          class="skeleton"
          style={{ blockSize: '1rem', inlineSize: `${90 - ((line * 37) % 45)}%`, marginBlock: '0.75rem' }}
        />
      ))}
    </div>
  )
}
