/** The name of a file in messages: relative to the working directory if the file is below it. */
import { relative } from 'node:path'

export function fileName(file: string): string {
  const short = relative('.', file)
  return short.startsWith('..') ? file : short
}
