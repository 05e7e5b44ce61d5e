/** Requirements of the Tool Execution API that are not implemented yet, each with the reason. */

const byReason: readonly [reason: string, ids: readonly string[]][] = [
  ['only a package for that language could keep it, and this one is for TypeScript', ['rest:30', 'rest:31', 'rest:32']],
]

export const restNotYetBuilt: readonly (readonly [id: string, reason: string])[] = byReason.flatMap(([reason, ids]) =>
  ids.map((id) => [id, reason] as const),
)
