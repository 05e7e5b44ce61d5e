/** What a node lets the others know of it. It is written with every beat, and read from `nodes.about`. */
import type { JsonValue } from '../../../core/json.ts'

export class AboutNode {
  readonly #facts = new Map<string, () => JsonValue | undefined>()

  /** `read` is called at every beat. An undefined value is left out. */
  tell(name: string, read: () => JsonValue | undefined): void {
    this.#facts.set(name, read)
  }

  encode(): string {
    return JSON.stringify(Object.fromEntries([...this.#facts].map(([name, read]) => [name, read()])))
  }
}
