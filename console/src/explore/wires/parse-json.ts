/** Reads a JSON object whose fields may be missing. Anything else gives an object without fields. */
export function parseObject<T extends object>(text: string): Partial<T> {
  try {
    const value = JSON.parse(text) as Partial<T> | null
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
