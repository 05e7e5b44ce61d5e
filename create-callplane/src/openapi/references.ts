/**
 * Follows `$ref`: inside the document, and into other files of its folder. Other addresses are refused, because a
 * document must not make its reader fetch or open something.
 */
import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'
import { UsageError } from '../usage-error.ts'
import { type Json, member, textAt } from './json.ts'
import { parseText, readText } from './read-document.ts'
import { Unmappable } from './unmappable.ts'

const MAX_STEPS = 20
const MAX_FILES = 100

/** A value and the file that it is in: a relative reference in it starts there. */
export interface Place {
  readonly value: Json | undefined
  /** Empty for a document from a URL, which cannot refer to files. */
  readonly file: string
  /** Names the place: two references to it have the same one. */
  readonly id: string
}

export class References {
  readonly #documents = new Map<string, Json>()
  /** The folder that references must stay in. */
  readonly #folder: string | undefined

  constructor(root: Json, file: string | undefined) {
    this.#documents.set(file ?? '', root)
    this.#folder = file === undefined ? undefined : realpathSync(dirname(file))
  }

  /** The value itself, or the one that its `$ref` leads to. */
  follow(value: Json | undefined, file: string): Place {
    let at: Place = { value, file, id: '' }
    for (let step = 0; step < MAX_STEPS; step++) {
      const ref = textAt(at.value, '$ref')
      if (ref === undefined) return at
      at = this.target(ref, at.file)
    }
    throw new Unmappable('a $ref leads to itself')
  }

  /** One step: the place that a `$ref` in a file names. */
  target(ref: string, from: string): Place {
    const [path = '', pointer = ''] = splitOnce(ref, '#')
    const file = path === '' ? from : this.#open(path, from)
    if (pointer !== '' && !pointer.startsWith('/')) throw new Unmappable(`the $ref ${quoted(ref)} uses an anchor`)
    let value: Json | undefined = this.#documents.get(file)
    for (const key of decodePointer(pointer, ref)) {
      value = Array.isArray(value) ? value[Number(key)] : member(value, key)
    }
    if (value === undefined) throw new Unmappable(`the $ref ${quoted(ref)} leads nowhere`)
    return { value, file, id: `${file}#${pointer}` }
  }

  #open(path: string, from: string): string {
    if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(path))
      throw new Unmappable(`the $ref ${quoted(path)} leads to another address`)
    if (this.#folder === undefined) throw new Unmappable(`the $ref ${quoted(path)} leads to another document`)
    const file = this.#inside(resolve(dirname(from), decoded(path)), path)
    if (this.#documents.has(file)) return file
    if (this.#documents.size >= MAX_FILES) throw new Unmappable(`more than ${MAX_FILES} files are referred to`)
    try {
      this.#documents.set(file, parseText(readText(file), path))
    } catch (cause) {
      if (!(cause instanceof UsageError)) throw cause
      throw new Unmappable(`the $ref ${quoted(path)} cannot be read: ${cause.message}`)
    }
    return file
  }

  /** Follows links in the file system, so that none leads out of the folder. */
  #inside(file: string, path: string): string {
    let real: string
    try {
      real = realpathSync(file)
    } catch {
      throw new Unmappable(`the $ref ${quoted(path)} leads to a file that does not exist`)
    }
    if (!real.startsWith(this.#folder + sep)) {
      throw new Unmappable(`the $ref ${quoted(path)} leads out of the folder of the document`)
    }
    return real
  }
}

function decodePointer(pointer: string, ref: string): string[] {
  const keys = decoded(pointer).split('/').slice(1)
  if (keys.length > 100) throw new Unmappable(`the $ref ${quoted(ref)} is too long`)
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function splitOnce(text: string, at: string): [string, string] {
  const index = text.indexOf(at)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)]
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text)
}
