/** A finding about one value of the text. The words for it are in the catalogue of texts. */
import type { Path } from '../text/nodes.ts'

export interface Problem {
  readonly path: Path
  /** The keyword that was not kept, or a name of our own. */
  readonly keyword: ProblemKeyword
  /** The keyword's value: a limit, a name, a list of names. */
  readonly wanted?: unknown
  /** Warnings do not make the arguments wrong. */
  readonly severity: 'error' | 'warning'
}

export type ProblemKeyword =
  | 'type'
  | 'enum'
  | 'const'
  | 'multipleOf'
  | 'maximum'
  | 'exclusiveMaximum'
  | 'minimum'
  | 'exclusiveMinimum'
  | 'maxLength'
  | 'minLength'
  | 'pattern'
  | 'format'
  | 'maxItems'
  | 'minItems'
  | 'uniqueItems'
  | 'contains'
  | 'maxContains'
  | 'maxProperties'
  | 'minProperties'
  | 'required'
  | 'dependentRequired'
  | 'unknownProperty'
  | 'extraItem'
  | 'propertyNames'
  | 'oneOf'
  | 'oneOfSeveral'
  | 'anyOf'
  | 'not'
  | 'never'
  | 'duplicateKey'
  | 'loneSurrogate'
  | 'numberTooLarge'
  | 'numberRounded'
