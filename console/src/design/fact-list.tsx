/** Names and values, one beside the other. A value that is empty is left out with its name. */
import { type ComponentChildren, Fragment } from 'preact'
import { Copy } from './copy.tsx'

export type Fact = readonly [name: string, value: ComponentChildren]

export function FactList({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  )
}

/** An id, or another text that one wants to copy. */
export function CopiedText({ text }: { text: string }) {
  return (
    <span class="with-copy">
      <span class="mono clip">{text}</span>
      <Copy text={text} />
    </span>
  )
}
