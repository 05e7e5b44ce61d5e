/** Where an offset stands in the text: which value, at a name or at a value. It works on unfinished text. */
import type { JsonNode, Path } from '../forms/text/nodes.ts'
import { parseText } from '../forms/text/parse.ts'

export interface TextPlace {
  /** At a property name: the path of the object. At a value: the path of the value. */
  readonly path: Path
  readonly role: 'key' | 'value'
  readonly root: JsonNode | undefined
  /** The name or value under the offset. */
  readonly start: number
  readonly end: number
  /** The names that the object has already, without the one under the offset. */
  readonly siblings: readonly string[]
}

export function placeAt(text: string, offset: number): TextPlace {
  const { root } = parseText(text)
  let path: Path = []
  let node = root
  while (node) {
    if (node.kind === 'object') {
      const names = node.members.map((member) => member.key)
      const member = node.members.findLast((each) => each.keyStart <= offset)
      const others = names.filter((name) => name !== member?.key)
      if (member && offset <= member.keyEnd) {
        return { path, role: 'key', root, start: member.keyStart, end: member.keyEnd, siblings: others }
      }
      const isAfterColon = member && text.slice(member.keyEnd, offset).trimStart().startsWith(':')
      if (
        member &&
        isAfterColon &&
        (!member.value || offset <= member.value.end) &&
        !endsMember(text, member.keyEnd, offset, member.value)
      ) {
        path = [...path, member.key]
        if (!member.value || offset < member.value.start)
          return { path, role: 'value', root, start: offset, end: offset, siblings: [] }
        node = member.value
        continue
      }
      return { path, role: 'key', root, start: offset, end: offset, siblings: names }
    }
    if (node.kind === 'array') {
      const index = node.items.findLastIndex((item) => item.start <= offset)
      const item = node.items[index]
      if (item && offset <= item.end) {
        path = [...path, index]
        node = item
        continue
      }
      return { path: [...path, index + 1], role: 'value', root, start: offset, end: offset, siblings: [] }
    }
    return { path, role: 'value', root, start: node.start, end: node.end, siblings: [] }
  }
  return { path, role: 'value', root, start: offset, end: offset, siblings: [] }
}

/** A comma after a name without a value: the next name begins there. */
function endsMember(text: string, keyEnd: number, offset: number, value: JsonNode | undefined): boolean {
  return !value && text.slice(keyEnd, offset).includes(',')
}
