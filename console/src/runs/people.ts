/** Names of callers: `issuer|subject` is shown as its subject. */

export function personOf(owner: string, userId?: string): string {
  return userId ?? owner.slice(owner.lastIndexOf('|') + 1)
}
