/** Writes the `.proto` text of a message and of the messages and enums of the same file that it uses. */
import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf'

/** The keywords of the scalar types, by their number. */
const SCALARS = [
  ...['', 'double', 'float', 'int64', 'uint64', 'int32', 'fixed64', 'fixed32', 'bool', 'string', '', ''],
  ...['bytes', 'uint32', '', 'sfixed32', 'sfixed64', 'sint32', 'sint64'],
]

export function printMessage(message: DescMessage): string {
  const found = new Set<DescMessage | DescEnum>()
  const imports = new Set<string>()
  collect(message, message, found, imports)
  const { file } = message
  const head = [
    'syntax = "proto3";',
    ...(file.proto.package === '' ? [] : ['', `package ${file.proto.package};`]),
    ...(imports.size === 0 ? [] : ['', ...[...imports].map((path) => `import "${path}.proto";`)]),
  ]
  // Nested types are written inside their message.
  const own = [...found].filter(({ parent }) => !parent || !found.has(parent))
  const body = own.map((desc) => ['', ...(desc.kind === 'enum' ? enumLines(desc) : messageLines(desc, found))])
  return `${[...head, ...body.flat()].join('\n')}\n`
}

function collect(
  desc: DescMessage | DescEnum,
  of: DescMessage,
  found: Set<DescMessage | DescEnum>,
  imports: Set<string>,
): void {
  if (found.has(desc)) return
  if (desc.file.name !== of.file.name) {
    imports.add(desc.file.name)
    return
  }
  found.add(desc)
  if (desc.kind === 'message') {
    for (const field of desc.fields)
      for (const used of [field.message, field.enum]) if (used) collect(used, of, found, imports)
  }
}

function messageLines(message: DescMessage, found: ReadonlySet<DescMessage | DescEnum>): string[] {
  const nested = [...message.nestedMessages, ...message.nestedEnums].filter((desc) => found.has(desc))
  const lines = [
    ...nested.flatMap((desc) => (desc.kind === 'enum' ? enumLines(desc) : messageLines(desc, found))),
    ...message.members.flatMap((member) =>
      member.kind === 'oneof'
        ? [`oneof ${member.name} {`, ...member.fields.map((field) => `  ${fieldLine(field)}`), '}']
        : [fieldLine(member)],
    ),
  ]
  return [`message ${message.name} {`, ...lines.map((line) => `  ${line}`), '}']
}

function enumLines({ name, values }: DescEnum): string[] {
  return [`enum ${name} {`, ...values.map((value) => `  ${value.name} = ${value.number};`), '}']
}

function fieldLine(field: DescField): string {
  const { name, number, jsonName } = field
  const optional = field.proto.proto3Optional ? 'optional ' : ''
  const json = jsonName === usualJsonName(name) ? '' : ` [json_name = ${JSON.stringify(jsonName)}]`
  return `${optional}${typeOf(field)} ${name} = ${number}${json};`
}

function typeOf(field: DescField): string {
  switch (field.fieldKind) {
    case 'map':
      return `map<${SCALARS[field.mapKey]}, ${nameOf(field)}>`
    case 'list':
      return `repeated ${nameOf(field)}`
    default:
      return nameOf(field)
  }
}

function nameOf({ message, enum: enumeration, scalar }: DescField): string {
  return message?.typeName ?? enumeration?.typeName ?? SCALARS[scalar ?? 0] ?? ''
}

/** The JSON name that protobuf derives from a field name. */
function usualJsonName(name: string): string {
  return name.replaceAll(/_+([a-zA-Z0-9])/g, (_all, next: string) => next.toUpperCase())
}
