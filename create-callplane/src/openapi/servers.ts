/** The address of the API: that of the operation, of the path or of the document. */
import { type Json, listAt, objectAt, textAt } from './json.ts'
import { Unmappable } from './unmappable.ts'

/** `levels` begin with the innermost. `base` is the address of the document, if it has one. */
export function serverOf(
  levels: readonly (Json | undefined)[],
  base: string | undefined,
  wanted: string | undefined,
): string {
  if (wanted !== undefined) return wanted
  const first = levels.map((level) => listAt(level, 'servers')[0]).find((server) => server !== undefined)
  const template = textAt(first, 'url') ?? '/'
  const variables = objectAt(first, 'variables')
  const filled = template.replaceAll(
    /\{([^{}]*)\}/g,
    (whole, name: string) => textAt(objectAt(variables, name), 'default') ?? whole,
  )
  if (/[{}]/.test(filled))
    throw new Unmappable(
      `the address ${JSON.stringify(template.slice(0, 80))} has a variable without a default. Name the address with --server`,
    )
  const url = URL.parse(filled, base)
  if (!url) throw new Unmappable('the document has no absolute address of the API. Name it with --server')
  if (!/^https?:$/.test(url.protocol)) throw new Unmappable(`the address of the API begins with ${url.protocol}`)
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw new Unmappable('the address of the API has a password or a fragment')
  return url.href
}
