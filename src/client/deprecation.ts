/** Warns once about each deprecated operation that a program calls. */
import type { CallingExtras } from './calling.ts'

export function createWarner(
  onWarning: (warning: string) => void = console.warn,
): NonNullable<CallingExtras['observe']> {
  const warned = new Set<string>()
  return ({ operation }, { headers }) => {
    if (!headers?.has('deprecation') || warned.has(operation)) return
    warned.add(operation)
    const sunset = headers.get('sunset')
    const replacement = /#([^>]+)>; rel="successor-version"/.exec(headers.get('link') ?? '')?.[1]
    const until = sunset === null ? '' : `, and served until ${sunset}`
    const instead = replacement === undefined ? '' : ` Use ${replacement} instead.`
    onWarning(`${operation} is deprecated${until}.${instead}`)
  }
}
