/** Names for code: the words of a name from outside, which may hold any character. */

/** `V1OrdersGetItem` for `v1:orders.getItem`. */
export function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')
}
