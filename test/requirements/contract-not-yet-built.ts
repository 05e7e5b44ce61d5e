/** Requirements of the Tool Contract that are not implemented yet, each with the reason. */

export const contractNotYetBuilt: readonly (readonly [id: string, reason: string])[] = []
