/** Catches an error of a screen, so that the rest of the page stays. */
import { Component, type ComponentChildren } from 'preact'
import { Button } from '../design/button.tsx'
import { Empty } from '../design/feedback.tsx'
import { texts } from '../texts/en/shell.ts'

interface Caught {
  error?: Error | undefined
}

/** Give it a `key` of the place: another place begins anew. */
export class Boundary extends Component<{ children: ComponentChildren }, Caught> {
  override state: Caught = {}

  override componentDidCatch(error: Error): void {
    this.setState({ error })
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <Empty icon="errors" isWholeScreen title={texts.broken.title}>
        <p>{texts.broken.text}</p>
        <p class="mono">{error.message}</p>
        <div class="actions">
          <Button tone="primary" onClick={() => this.setState({ error: undefined })}>
            {texts.broken.action}
          </Button>
        </div>
      </Empty>
    )
  }
}
