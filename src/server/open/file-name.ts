/** How a file is called in a message: from where the person stands, as long as it is below. */
import { relative } from 'node:path'

export function fileName(file: string): string {
  const short = relative('.', file)
  return short.startsWith('..') ? file : short
}
