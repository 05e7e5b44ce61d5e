/** Tools that another server offers, named in TypeScript as a YAML file would name them. */
import type { AuthDeclaration } from '../../core/credential.ts'
import { Fault } from '../../core/fault.ts'
import { isName, parseName } from '../../core/names.ts'
import type { BackendSpec, OperationRules } from '../../core/operation.ts'
import type { ToolImport } from '../declarations/index.ts'

export type ImportSettings = BackendSpec & {
  kind: 'mcp'
  /** How the tools are called here: `v1:github.*`. */
  as: string
}

/** What comes with the tools is not said again. */
export type ImportedRules = Omit<
  OperationRules,
  'title' | 'description' | 'version' | 'media' | 'chunked' | 'cache' | 'deprecated' | 'internal'
> & { auth?: AuthDeclaration }

export function importTools({ as, ...settings }: ImportSettings, more: ImportedRules = {}): ToolImport {
  const { auth, ...rules } = more
  const place = `importTools("${String(as)}")`
  const sample = typeof as === 'string' && as.endsWith('.*') ? `${as.slice(0, -1)}x` : ''
  const name = isName(sample) ? parseName(sample) : undefined
  if (!name?.namespace) {
    throw new Fault('malformed', `${place}: "as" must say how the tools are called here, such as "v1:github.*".`, {
      code: 'INVALID_IMPORT',
    })
  }
  const { namespace, major } = name
  return { kind: 'mcp', namespace, major, settings, rules, folder: process.cwd(), place, ...(auth && { auth }) }
}
