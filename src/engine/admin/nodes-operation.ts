/** Lists the nodes of a server, with their load, for operators. */
import { operation } from '../../core/operation/define.ts'
import { jsonSchema } from '../../core/operation/schema.ts'
import { SCOPES } from '../../core/operation/scopes.ts'
import type { NodeFacts, NodeInfo } from '../../core/ports/nodes.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { timeText } from './shapes.ts'
import { requireServerView, type WholeServerParts } from './whole-server.ts'

/** The fields of a node in the result. Those after `node` are absent if the node has told nothing. */
export interface NodeView extends Partial<Omit<NodeFacts, 'startedAt'>> {
  node: number
  schema?: number
  startedAt?: string
  uptimeMs?: number
}

export interface NodeList {
  nodes: NodeView[]
  /** Calls in the whole store that are accepted and have never been started. */
  queued: number
  /** Calls in the whole store that have not ended. */
  open: number
}

export interface NodesParts extends WholeServerParts {
  store: Pick<Store, 'openCounts'>
  clock: Pick<Clock, 'now'>
  nodes(): Promise<readonly NodeInfo[]>
}

const COUNT = { type: 'integer', minimum: 0 }

const NODE_SCHEMA = {
  type: 'object',
  required: ['node'],
  properties: {
    node: COUNT,
    schema: COUNT,
    host: { type: 'string' },
    pid: COUNT,
    version: { type: 'string' },
    startedAt: { type: 'string' },
    address: { type: 'string' },
    running: COUNT,
    waiting: COUNT,
    busy: { type: 'number', minimum: 0, maximum: 1 },
    uptimeMs: COUNT,
    memoryBytes: COUNT,
    loopDelayMs: { type: 'number', minimum: 0 },
    operations: {
      type: 'array',
      items: {
        type: 'object',
        required: ['operation', 'calls'],
        properties: { operation: { type: 'string' }, calls: COUNT },
      },
    },
    draining: { type: 'boolean' },
  },
}

/** The scope is that of reading calls, for a person who watches a server. */
export function listNodes(parts: () => NodesParts) {
  return operation('v1:callplane.nodes.list', {
    description: 'Lists the nodes of this server: version, address, load, and the operations that each runs.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<Record<string, never>>({ type: 'object', additionalProperties: false }),
    result: jsonSchema<NodeList>({
      type: 'object',
      required: ['nodes', 'queued', 'open'],
      properties: { nodes: { type: 'array', items: NODE_SCHEMA }, queued: COUNT, open: COUNT },
    }),
    run: async (_, { caller }) => {
      const { store, nodes, clock } = parts()
      requireServerView(parts(), caller)
      const [found, { queued, byOperation }] = await Promise.all([nodes(), store.openCounts()])
      const open = [...byOperation.values()].reduce((sum, calls) => sum + calls, 0)
      const now = clock.now()
      return { nodes: found.map((node) => viewOf(node, now)), queued, open }
    },
  })
}

function viewOf({ node, schema, facts }: NodeInfo, now: number): NodeView {
  const head = { node, ...(schema !== undefined && { schema }) }
  if (!facts) return head
  const { startedAt, ...rest } = facts
  // The clock of the store and that of the machine can differ.
  return { ...head, ...rest, startedAt: timeText(startedAt), uptimeMs: Math.max(0, now - startedAt) }
}
