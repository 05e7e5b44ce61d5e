/** A declared import of another server's tools: the server to import from, and the name of the tools here. */
import { type AuthDeclaration, parseAuth } from '../../core/operation/credential.ts'
import { parseName } from '../../core/operation/names.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import type { OperationRules } from '../../core/operation/rules.ts'
import { attempt, type Source } from './entry.ts'
import { IMPORT } from './fields.ts'
import { describeValue, type LocatedObject, placeAt } from './located.ts'
import type { Place } from './problems.ts'
import { checkFields } from './shapes.ts'

export interface ToolImport {
  readonly kind: 'mcp'
  /** `github` of `v1:github.*`. */
  readonly namespace: string
  /** 1 of `v1:github.*`. */
  readonly major: number
  /** The other fields of `import`: how to reach the other server. */
  readonly settings: BackendSpec
  /** Rules for every tool of the import. */
  readonly rules: OperationRules
  readonly auth?: AuthDeclaration
  /** Base of relative paths in the settings. */
  readonly folder: string
  /** For messages. */
  readonly place: Place
}

type Declared = OperationRules & { import: BackendSpec & { as: string }; auth?: AuthDeclaration }

/** `undefined` if the declaration has a problem. */
export function parseImport(entry: LocatedObject, { problems, folder }: Source): ToolImport | undefined {
  const before = problems.count
  checkFields(entry, '', IMPORT, {}, problems)
  const given = entry.fields.get('import')?.content
  if (!given?.fields) return undefined
  const { import: settings, auth, ...rules } = entry.value as unknown as Declared
  const { as, ...rest } = settings
  if (rest.kind !== 'mcp') problems.add(placeAt(given, ['kind']), 'import.kind must be mcp.')
  if (given.fields.has('command') === given.fields.has('url')) {
    problems.add(
      given.place,
      'import needs either command, to start a server, or url, to reach a running one. Write one of the two.',
    )
  }
  const name =
    typeof as === 'string' && as.endsWith('.*')
      ? attempt(given, problems, () => parseName(`${as.slice(0, -1)}x`))
      : undefined
  if (!name?.namespace) {
    const said = given.fields.get('as')
    const not = said ? `, not ${typeof as === 'string' ? JSON.stringify(as) : describeValue(said.content)}` : ''
    problems.add(placeAt(given, ['as']), `import.as must be the name of the tools here, such as "v1:github.*"${not}.`)
  }
  if (problems.count > before || !name?.namespace) return undefined
  if (auth) attempt(entry, problems, () => parseAuth(auth))
  if (problems.count > before) return undefined
  const { namespace, major } = name
  return { kind: 'mcp', namespace, major, settings: rest, rules, folder, place: entry.place, ...(auth && { auth }) }
}
