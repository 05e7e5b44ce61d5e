/** What a server tells of itself in `nodes.about`, and what the others read there. */
import { isJsonObject, type JsonValue } from '../../../core/json.ts'
import type { NodeFacts, NodeInfo } from '../../../core/ports/nodes.ts'
import type { AboutNode } from '../nodes/about-node.ts'
import type { NodeRow } from '../nodes/membership.ts'
import { knownSchema } from '../sql/migrate.ts'

export function tellFacts(about: AboutNode, read: (() => NodeFacts) | undefined): void {
  const schema = knownSchema()
  about.tell('schema', () => schema)
  if (read) about.tell('server', () => read() as unknown as JsonValue)
}

/** Nodes of other versions may have told less. */
export function nodeOf({ node, about: { schema, server } }: NodeRow): NodeInfo {
  return {
    node,
    ...(typeof schema === 'number' && { schema }),
    ...(server !== undefined && isJsonObject(server) && { facts: server as unknown as NodeFacts }),
  }
}
