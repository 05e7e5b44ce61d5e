/** Gives every field the form that it belongs to. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Form } from './form-state.ts'

export const FormContext = createContext<Form | undefined>(undefined)

export function useForm(): Form {
  const form = useContext(FormContext)
  if (!form) throw new Error('A field is used outside its form.')
  return form
}
