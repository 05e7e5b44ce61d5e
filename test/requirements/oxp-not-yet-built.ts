/** OXP and OTC requirements that are not implemented yet, each with the reason. */

const CLIENT = 'the typed client is not built yet'

export const oxpNotYetBuilt: readonly (readonly [id: string, reason: string])[] = [
  '05',
  '07',
  '08',
  '09',
  '35',
  '36',
  '38',
  '43',
  '44',
  '45',
].map((number) => [`oxp:${number}`, CLIENT] as const)
