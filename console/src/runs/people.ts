/** Names as people read them: `issuer|subject` as its subject, `v1:orders.refund@1.0.0` without the exact version. */

export function personOf(owner: string, userId?: string): string {
  return userId ?? owner.slice(owner.lastIndexOf('|') + 1)
}

/** Approvals name the exact version of their operation. */
export function nameOf(operation: string): string {
  return operation.replace(/@[^@]*$/, '')
}
