/** Name, description and properties of the operation, with the actions that are always in reach. */
import type { ComponentChildren } from 'preact'
import { Icon } from '../design/icon.tsx'
import { SeenText } from '../design/seen-text.tsx'
import { href } from '../routes.ts'
import { texts } from '../texts/en/explore.ts'
import type { Entry } from './wires/wire.ts'

export function OperationHead({ entry, children }: { entry: Entry; children: ComponentChildren }) {
  const { op, title, description, executionModel = 'sync', mediaSchema = [] } = entry
  return (
    <header class="op-head">
      <a class="back button plain small" href={href('explore', {}, { q: ' ' })}>
        <Icon name="left" />
        {texts.back}
      </a>
      <div class="op-title">
        <h1 class="mono">
          <OperationName op={op} />
        </h1>
        <div class="op-actions">{children}</div>
      </div>
      {title && (
        <p>
          <SeenText text={title} />
        </p>
      )}
      {description && (
        <p class="quiet">
          <SeenText text={description} />
        </p>
      )}
      <p class="op-chips">
        <span class="chip" title={texts.modelHints[executionModel]}>
          {texts.models[executionModel]}
        </span>
        {entry.sideEffecting && (
          <span class="chip warn" title={texts.effectsHint}>
            {texts.effects}
          </span>
        )}
        {entry.chunked && (
          <span class="chip" title={texts.chunkedHint}>
            {texts.chunked}
          </span>
        )}
        {mediaSchema.length > 0 && <span class="chip">{texts.needsFile}</span>}
        {entry.authScopes?.map((scope) => (
          <span class="chip" key={scope}>
            <Icon name="lock" size={12} />
            <SeenText text={scope} />
          </span>
        ))}
        {entry.deprecated && (
          <span class="chip bad">
            {texts.deprecated(entry.sunset)}
            {entry.replacement && (
              <>
                {' '}
                {texts.replacement} <a href={href('operation', { op: entry.replacement })}>{entry.replacement}</a>
              </>
            )}
          </span>
        )}
      </p>
    </header>
  )
}

/** Breaks at dots, so that a long name fits a phone. */
function OperationName({ op }: { op: string }) {
  const parts = op.split(/(?<=[.:])/)
  return (
    <>
      {parts.map((part, at) => (
        <span key={at}>
          <SeenText text={part} />
          <wbr />
        </span>
      ))}
    </>
  )
}
