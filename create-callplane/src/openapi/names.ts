/** The names of tools: `v1:pets.getPetById`. Every protocol must have room for them, and no two may be equal. */
import { createHash } from 'node:crypto'
import { UsageError } from '../usage-error.ts'

/** Models accept 64 characters, minus the suffix that pins a version. The namespace and a `_` count, too. */
const MAX_TOOL_NAME = 59
const MAX_NAMESPACE = 24

export function namespaceOf(title: string | undefined, wanted: string | undefined): string {
  if (wanted !== undefined) {
    if (/^[A-Za-z]\w*$/.test(wanted) && wanted.length <= MAX_NAMESPACE) return wanted
    throw new UsageError(`--namespace must be a word of at most ${MAX_NAMESPACE} letters and digits, such as pets.`)
  }
  const words = (title ?? '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '' && !/^(?:api|the|openapi|swagger)$/i.test(word))
  const name = words
    .map((word) => word.toLowerCase())
    .join('_')
    .replace(/^[^a-z]+/, '')
    .slice(0, MAX_NAMESPACE)
  return name.replace(/_+$/, '') || 'api'
}

export class ToolNames {
  readonly #namespace: string
  readonly #taken = new Set<string>()

  constructor(namespace: string) {
    this.#namespace = namespace
  }

  /** `repeated` is true if the id was taken and the name has a number. */
  take(operationId: string | undefined, method: string, path: string): { name: string; repeated: boolean } {
    const word = this.#fitting(operationId === undefined ? wordsOf(method, path) : operationId)
    let base = word
    for (let number = 2; this.#isTaken(base); number++) base = `${this.#fitting(word, 6)}_${number}`
    this.#taken.add(base).add(`${base}_v1`)
    return { name: `v1:${this.#namespace}.${base}`, repeated: base !== word }
  }

  /** Every tool also answers to its name with `_v1`. */
  #isTaken(base: string): boolean {
    return this.#taken.has(base) || this.#taken.has(`${base}_v1`)
  }

  #fitting(text: string, reserve = 0): string {
    const clean = text.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '')
    const word = /^[A-Za-z]/.test(clean) ? clean : `tool_${clean}`.replace(/_$/, '')
    const room = MAX_TOOL_NAME - this.#namespace.length - 1 - reserve
    if (word.length <= room) return word
    // Long names often differ at their end only.
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 6)
    return `${word.slice(0, room - 7).replace(/_+$/, '')}_${digest}`
  }
}

/** `getPetsByPetId` for `GET /pets/{petId}`. */
function wordsOf(method: string, path: string): string {
  const words = path.split('/').flatMap((part) => {
    const text = part.replaceAll(/\{([^{}]*)\}/g, ' by $1 ')
    return text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  })
  return method + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}
