/** Requirements of the Tool Contract that wait for work of their own, each with the reason. */

export const contractNotYetBuilt: readonly (readonly [id: string, reason: string])[] = []
