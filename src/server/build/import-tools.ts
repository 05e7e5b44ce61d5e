/** Imports tools of another server, declared in TypeScript as they would be in YAML. */

import { Fault } from '../../core/fault.ts'
import type { AuthDeclaration } from '../../core/operation/credential.ts'
import { isName, parseName } from '../../core/operation/names.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import type { OperationRules } from '../../core/operation/rules.ts'
import type { ToolImport } from '../declarations/index.ts'

export type ImportSettings = BackendSpec & {
  kind: 'mcp'
  /** The name of the tools here, such as `v1:github.*`. */
  as: string
}

/** Excludes the rules that come with the tools. */
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
    throw new Fault('malformed', `${place}: "as" must be the name of the tools here, such as "v1:github.*".`, {
      code: 'INVALID_IMPORT',
    })
  }
  const { namespace, major } = name
  return { kind: 'mcp', namespace, major, settings, rules, folder: process.cwd(), place, ...(auth && { auth }) }
}
