/** OXP and OTC requirements that are not implemented yet, each with the reason. There are none. */

export const oxpNotYetBuilt: readonly (readonly [id: string, reason: string])[] = []
