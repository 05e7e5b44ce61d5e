/** A target of `callplane generate`: a pure function from the catalogue of a server to one file. */
import type { Catalogue } from './catalogue.ts'

export interface GeneratedFile {
  /** The usual name of the file, such as `operations.d.ts`. */
  readonly path: string
  /** Ends with a line break. The same catalogue gives the same text. */
  readonly text: string
}

export type Target = (catalogue: Catalogue) => GeneratedFile
