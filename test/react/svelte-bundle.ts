/** Compiles Svelte for a bundle. Its packages are in `.engines`, because Vue and React are enough for every `npm ci`. */
import { join } from 'node:path'
import type { Plugin } from 'rolldown'
import { LARGE_PACKAGES } from '../engines/engines.ts'

interface Compiler {
  compile(code: string, options: object): { js: { code: string } }
  compileModule(code: string, options: object): { js: { code: string } }
}

export const SVELTE_ENTRY = 'svelte-entry.js'

/** `component` is the path of the page. */
export async function sveltePlugin(component: string): Promise<Plugin> {
  const compiler: Compiler = await import(join(LARGE_PACKAGES, 'svelte/src/compiler/index.js'))
  const options = (filename: string) => ({ filename, generate: 'client' })
  return {
    name: 'svelte',
    resolveId: (id) => (id === SVELTE_ENTRY ? join(import.meta.dirname, SVELTE_ENTRY) : undefined),
    load(id) {
      if (!id.endsWith(SVELTE_ENTRY)) return undefined
      return `import { mount } from 'svelte'\nimport Page from ${JSON.stringify(component)}\nmount(Page, { target: document.body })`
    },
    transform(code, id) {
      if (id.endsWith('.svelte')) return compiler.compile(code, { ...options(id), css: 'injected' }).js.code
      return /\.svelte\.[jt]s$/.test(id) ? compiler.compileModule(code, options(id)).js.code : undefined
    },
  }
}
