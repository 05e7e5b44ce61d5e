/**
 * Defects that are planted into the nodes or the database, to see that the checker finds them. None of them is in the
 * product: they are modules that Node loads before the program, and settings of the cluster.
 */
export interface Defect {
  what: string
  /** Modules for every node. */
  imports?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** The standby is asynchronous, and this much behind. */
  standbyLagsMs?: number
}

export const DEFECTS: Readonly<Record<string, Defect>> = {}
