/** The edits of a form: each goes through the text, and changes the bytes of one value. */
import { discriminatorOf, discriminatorValue } from '../schema/branches.ts'
import { readField } from '../schema/field.ts'
import type { Choice, FormModel, Place } from '../schema/model.ts'
import { startText } from '../schema/start.ts'
import { applySplice, insertAt, moveAt, removeAt, renameAt, type Splice, setAt } from '../text/edit.ts'
import { nodeAt, type Path } from '../text/nodes.ts'
import { type Parsed, parseText } from '../text/parse.ts'

/** Each replaces one piece of the newest text, so several in a row are safe. */
export class Edits {
  readonly #read: () => Parsed
  readonly #write: (parsed: Parsed) => void
  readonly #pick: (key: string, branch: number) => void
  /** Values of branches that were left, by choice and branch. */
  readonly #stash = new Map<string, string>()

  constructor(read: () => Parsed, write: (parsed: Parsed) => void, pick: (key: string, branch: number) => void) {
    this.#read = read
    this.#write = write
    this.#pick = pick
  }

  set(path: Path, value: string): void {
    this.#apply(setAt(this.#read(), path, value))
  }

  remove(path: Path): void {
    this.#apply(removeAt(this.#read(), path))
  }

  /** False if another property has the name. */
  rename(path: Path, name: string): boolean {
    const splice = renameAt(this.#read(), path, name)
    this.#apply(splice)
    return splice !== undefined
  }

  insert(path: Path, index: number, value: string): void {
    this.#apply(insertAt(this.#read(), path, index, value))
  }

  move(path: Path, to: number): void {
    this.#apply(moveAt(this.#read(), path, to))
  }

  /** Goes to another branch. The value of the old one is kept, and comes back with it. */
  switchTo(model: FormModel, choice: Choice, place: Place, path: Path, branch: number): void {
    const parsed = this.#read()
    const node = nodeAt(parsed.root, path)
    if (node) this.#stash.set(`${choice.key} ${choice.active}`, parsed.text.slice(node.start, node.end))
    this.#pick(choice.key, branch)
    const kept = this.#stash.get(`${choice.key} ${branch}`)
    if (kept !== undefined) this.set(path, kept)
    else if (node) this.#moveInto(model, choice, place, path, branch)
  }

  /** Properties that the new branch also has stay; the others go, and the constant of the branch is set. */
  #moveInto(model: FormModel, choice: Choice, place: Place, path: Path, branch: number): void {
    const target = choice.branches[branch] ?? true
    const picked = model.withPicks(new Map([...model.picks, [choice.key, branch]]))
    const field = readField(picked, picked.apply([target], undefined, path))
    const node = nodeAt(this.#read().root, path)
    if (node?.kind !== 'object' || !(field.kinds.length === 0 || field.kinds.includes('object'))) {
      const fits =
        node && field.kinds.some((kind) => kind === node.kind || (kind === 'integer' && node.kind === 'number'))
      if (!fits) this.set(path, startText(model, [target]))
      return
    }
    const name = discriminatorOf(model, choice.schema, choice.branches)
    const value = name === undefined ? undefined : discriminatorValue(model, target, name)
    if (name !== undefined && value !== undefined) this.set([...path, name], JSON.stringify(value))
    const wanted = new Set(
      [...readField(picked, picked.apply(place, undefined, path)).properties, ...field.properties].map(
        (each) => each.name,
      ),
    )
    const left = readField(model, model.apply([choice.branches[choice.active] ?? true], node, path))
    for (const { name: old } of left.properties) if (!wanted.has(old)) this.remove([...path, old])
  }

  #apply(splice: Splice | undefined): void {
    if (!splice) return
    this.#write(parseText(applySplice(this.#read().text, splice)))
  }
}
