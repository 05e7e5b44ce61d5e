/** What every field of one form shares: the arguments as they stand, the findings, and the edits. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { branchLabel } from '../schema/branches.ts'
import type { Choice, FormModel } from '../schema/model.ts'
import { type Path, pointerOf } from '../text/nodes.ts'
import type { Parsed } from '../text/parse.ts'
import type { Edits } from './edits.ts'

/** What is said about one field. */
export interface Message {
  readonly severity: 'error' | 'warning'
  readonly message: string
}

export interface Form {
  readonly model: FormModel
  /** The last text that was JSON. */
  readonly parsed: Parsed
  /** By `JSON.stringify(path)`. */
  readonly findings: ReadonlyMap<string, readonly Message[]>
  readonly edits: Edits
  /** The id of a field's control, so that a finding can lead to it. */
  idOf(path: Path): string
}

export const FormContext = createContext<Form | undefined>(undefined)

export function useForm(): Form {
  const form = useContext(FormContext)
  if (!form) throw new Error('A field is used outside its form.')
  return form
}

export function branchNames(model: FormModel, choice: Choice): string[] {
  return choice.branches.map((_, index) => branchLabel(model, choice.schema, choice.branches, index))
}

/** A valid id for any path: names can hold spaces and quotes. */
export function fieldId(prefix: string, path: Path): string {
  return `${prefix}${encodeURIComponent(pointerOf(path).toWellFormed()).replaceAll('%', '_')}`
}
