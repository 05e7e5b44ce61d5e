/**
 * Loaded into a node before the program (`--import`): the program gets a store with the defect that CHAOS_PLANT names.
 * The program itself is unchanged.
 */
import { registerHooks } from 'node:module'

const STORE = '/src/stores/postgres/index.ts'
const PLANTED = new URL('./planted-store.ts', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    const isStore = resolved.url.endsWith(STORE) && context.parentURL !== PLANTED
    return isStore ? { ...resolved, url: PLANTED } : resolved
  },
})
