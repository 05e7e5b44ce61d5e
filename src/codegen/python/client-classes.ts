/** The classes through which a program reaches the operations: one for each namespace, and the client. */
import type { CatalogueOperation } from '../catalogue.ts'
import type { Namespace } from '../shapes/name-tree.ts'
import { deprecationText } from '../shapes/operation-texts.ts'
import type { ShapedOperation } from '../shapes/shape.ts'
import { docstring, stringLiteral } from './text.ts'
import { typeText } from './types.ts'

/** The two clients differ in the names of classes only. */
export interface Flavour {
  readonly prefix: '' | 'Async'
  readonly driver: string
  readonly token: string
}

export const SYNC: Flavour = { prefix: '', driver: '_SocketDriver', token: 'str | Callable[[], str | None] | None' }
export const ASYNC: Flavour = {
  prefix: 'Async',
  driver: '_AsyncDriver',
  token: 'str | Callable[[], str | None | Awaitable[str | None]] | None',
}

export interface ClientFacts {
  readonly title: string
  readonly url?: string
  /** The names of the types of media, by operation. */
  readonly mediaTypes: ReadonlyMap<string, string>
}

/** Inner namespaces come first: Python reads the file from top to bottom. */
export function namespaceLines(space: Namespace, flavour: Flavour, facts: ClientFacts): string[][] {
  return space.namespaces.flatMap(({ namespace }) => [
    ...namespaceLines(namespace, flavour, facts),
    [
      `class ${flavour.prefix}${namespace.typeName}:`,
      ...docstring(`The operations of ${namespace.path}.`, '    '),
      '',
      `    def __init__(self, core: _Core, driver: ${flavour.driver}) -> None:`,
      ...memberLines(namespace, flavour, facts, 'core, driver'),
    ],
  ])
}

export function clientLines(root: Namespace, flavour: Flavour, facts: ClientFacts): string[] {
  const base = flavour.prefix === '' ? '_ClientBase' : '_AsyncClientBase'
  return [
    `class ${flavour.prefix}Client(${base}):`,
    ...docstring(facts.title, '    '),
    '',
    '    def __init__(',
    '        self,',
    `        url: str${facts.url === undefined ? '' : ` = ${stringLiteral(facts.url)}`},`,
    `        token: ${flavour.token} = None,`,
    '        options: ClientOptions = ClientOptions(),',
    '    ) -> None:',
    '        super().__init__(url, token, options, _REMEDIES)',
    ...memberLines(root, flavour, facts, 'self._core, self._driver'),
  ]
}

function memberLines(space: Namespace, flavour: Flavour, facts: ClientFacts, given: string): string[] {
  const { prefix } = flavour
  return [
    ...space.namespaces.map(
      ({ member, namespace }) => `        self.${member} = ${prefix}${namespace.typeName}(${given})`,
    ),
    ...space.operations.flatMap(({ member, shaped }) => {
      const { operation } = shaped
      const value = `${prefix}${classOf(operation)}(${given}, _OPS[${stringLiteral(operation.name)}])`
      return [
        `        self.${member}: ${operationType(shaped, prefix, facts)} = ${value}`,
        ...docstring(told(operation), '        '),
      ]
    }),
  ]
}

function classOf({ model, chunked }: CatalogueOperation): string {
  if (model === 'stream') return 'StreamOperation'
  return chunked ? 'ContentOperation' : 'Operation'
}

function operationType(
  { operation, args, result, frame }: ShapedOperation,
  prefix: string,
  facts: ClientFacts,
): string {
  const given = args.kind === 'any' ? 'dict[str, Any]' : typeText(args)
  const { stream } = operation
  if (stream) {
    const item = stream.encodings.includes('json') && frame ? typeText(frame) : 'bytes'
    return `${prefix}StreamOperation[${given}, ${item}]`
  }
  const media = facts.mediaTypes.get(operation.name) ?? 'NoMedia'
  return `${prefix}${classOf(operation)}[${given}, ${typeText(result)}, ${media}]`
}

/** What an editor shows. */
function told({ name, title, description, errors, deprecated, scopes }: CatalogueOperation): string {
  const lines = [description ?? title ?? name, '', `\`${name}\``]
  if (deprecated) lines.push('', deprecationText(name, deprecated))
  if (scopes.length > 0) lines.push('', `Needs the scopes ${scopes.join(', ')}.`)
  if (errors.length > 0) lines.push('', 'Fails with:')
  for (const { code, description: why } of errors) lines.push(why === undefined ? `- ${code}` : `- ${code}: ${why}`)
  return lines.join('\n')
}
