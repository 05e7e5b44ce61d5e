/** Where a saved call is opened. It is filled in, and does not run. */
import type { Server } from '../../api/server.ts'
import type { WhoAmI } from '../../api/types.ts'
import { href } from '../../routes.ts'
import { encodeArgs } from '../link-args.ts'
import { historyOf, type SavedCall } from './call-history.ts'

export async function hrefOfSaved({ op, wire, argsText }: SavedCall): Promise<string> {
  const a = await encodeArgs(argsText)
  return href('operation', { op }, { a, wire: wire === 'opencall' ? undefined : wire })
}

/** For the palette, which loads this file when it is opened. */
export async function savedCallsOf({ base }: Pick<Server, 'base'>, { caller }: WhoAmI): Promise<readonly SavedCall[]> {
  return (await historyOf(base, caller)?.saved()) ?? []
}
