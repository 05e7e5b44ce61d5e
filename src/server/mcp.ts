/** The Model Context Protocol for this server: which operations it offers, and what it says of itself. */
import { readFileSync } from 'node:fs'
import type { Route } from '../core/exchange.ts'
import type { Operation } from '../core/operation.ts'
import type { Registry } from '../core/registry.ts'
import { createTools, type Tools } from '../core/tools.ts'
import {
  createMcpRoutes,
  createMcpSession,
  type McpConnection,
  type McpParts,
  type McpSession,
} from '../protocols/mcp/index.ts'
import type { McpOptions } from './options.ts'

type RouteParts = Parameters<typeof createMcpRoutes>[0]

export interface McpSurfaceParts extends Omit<McpParts, 'settings'>, Pick<RouteParts, 'identify' | 'maxBodyBytes'> {
  toolkit: string
  holdMs: number
  authenticated: boolean
}

export interface McpSurface {
  readonly routes: readonly Route[]
  /** On a connection of messages. */
  connect(connection: McpConnection): McpSession
}

export function createMcpSurface(parts: McpSurfaceParts, options: McpOptions): McpSurface {
  const { toolkit, holdMs, authenticated, engine } = parts
  const { name = 'callplane', title, instructions } = options
  const tools = withAttachments(parts.tools, engine.registry, toolkit)
  const settings = {
    serverInfo: { name, version: options.version ?? packageVersion(), ...(title !== undefined && { title }) },
    holdMs,
    authenticated,
    ...(instructions !== undefined && { instructions }),
  }
  const own = { ...parts, tools, settings }
  return { routes: createMcpRoutes(own), connect: (connection) => createMcpSession(own, connection) }
}

/** Here a tool can be given files, so that operations are tools, too, which cannot run without one. */
function withAttachments(tools: Tools, registry: Registry, toolkit: string): Tools {
  const others = createTools(registry, toolkit, needsAttachment)
  return {
    ...tools,
    byName: (name, now) => tools.byName(name, now) ?? others.byName(name, now),
    list(now) {
      const added = others.list(now).filter(({ name }) => !tools.byName(name, now))
      if (added.length === 0) return tools.list(now)
      return [...tools.list(now), ...added].sort((a, b) => (a.name < b.name ? -1 : 1))
    },
  }
}

function needsAttachment({ media, internal }: Operation): boolean {
  return internal !== true && media.some((slot) => slot.required)
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
