/** Declarations, written into one YAML file for each tag. A server reads files of at most 1 MiB and 100,000 values. */
import { stringify } from 'yaml'
import type { ProjectFiles } from '../template.ts'

/** Far enough below the limit of the server that a person can add to a file. */
const MAX_CHARACTERS = 400_000
const MAX_VALUES = 50_000

export class DeclarationFiles {
  readonly #byTag = new Map<string, Record<string, unknown>[]>()
  #count = 0

  get count(): number {
    return this.#count
  }

  add(tag: string, declaration: Record<string, unknown>): void {
    const list = this.#byTag.get(tag) ?? []
    list.push(declaration)
    this.#byTag.set(tag, list)
    this.#count++
  }

  write(): ProjectFiles {
    const files = new Map<string, string>()
    for (const [tag, declarations] of this.#byTag) {
      for (const [index, text] of split(declarations).entries()) {
        files.set(freePath(files, index === 0 ? tag : `${tag}-${index + 1}`), text)
      }
    }
    return files
  }
}

function freePath(files: ProjectFiles, name: string): string {
  let path = `operations/${name}.yaml`
  for (let number = 2; files.has(path); number++) path = `operations/${name}_${number}.yaml`
  return path
}

function split(declarations: readonly Record<string, unknown>[]): string[] {
  const texts: string[] = []
  let [text, values] = ['', 0]
  for (const declaration of declarations) {
    const one = stringify(declaration, { lineWidth: 0, aliasDuplicateObjects: false })
    const count = countValues(declaration)
    if (text !== '' && (text.length + one.length > MAX_CHARACTERS || values + count > MAX_VALUES)) {
      texts.push(text)
      text = ''
      values = 0
    }
    text += text === '' ? one : `---\n${one}`
    values += count
  }
  return [...texts, text]
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + countValues(inner), 1)
}
