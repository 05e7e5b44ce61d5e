/** Configures the Model Context Protocol for this server: the operations it offers and its server information. */
import type { Operation } from '../../core/operation/operation.ts'
import type { Tools } from '../../core/ports/catalog.ts'
import type { Route } from '../../core/ports/exchange.ts'
import type { Identify, Presented } from '../../core/ports/guard.ts'
import type { OpenSession } from '../../core/ports/session.ts'
import type { Registry } from '../../engine/registry.ts'
import { createTools } from '../../engine/tools.ts'
import {
  createMcpRoutes,
  createMcpSessions,
  isStreamTool,
  type McpParts,
  TaskStreams,
} from '../../protocols/mcp/index.ts'
import { packageVersion } from '../build/package-version.ts'
import type { IsBare } from '../options/bare-names.ts'
import { warnOfLeftOut } from '../options/left-out.ts'
import type { McpOptions } from '../options/options.ts'
import type { OpenTransports } from './stream-transports.ts'

export interface McpSurfaceParts extends Omit<McpParts, 'settings' | 'envelopes' | 'catalog' | 'streams'> {
  catalog: Registry
  /** OpenCALL's calls, for clients that use all operations through one tool. */
  envelopes: NonNullable<McpParts['envelopes']>
  /** Identifies the sender by the request's headers. */
  identify: (presented: Presented) => Identify
  toolkit: string
  /** Decides which tools have no namespace in their names. */
  isBare: IsBare
  maxBodyBytes: number
  /** The issuers of accepted tokens. */
  issuers: readonly string[]
  holdMs: number
  authenticated: boolean
  transports: OpenTransports
}

export interface McpSurface {
  readonly routes: readonly Route[]
  /** For a message-based connection. */
  readonly session: OpenSession
  /** Ends open streams, which otherwise last until the client closes them. */
  close(): void
}

export function createMcpSurface({ envelopes, ...parts }: McpSurfaceParts, options: McpOptions): McpSurface {
  const { holdMs, authenticated } = parts
  const { name = 'callplane', title, instructions, version = packageVersion(), administration = false } = options
  const settings = {
    serverInfo: { name, version, ...(title !== undefined && { title }) },
    holdMs,
    authenticated,
    administration,
    ...(instructions !== undefined && { instructions }),
    ...(options.resources && { resources: options.resources }),
    ...(options.prompts && { prompts: options.prompts }),
    ...(options.tasksOnly && { tasksOnly: options.tasksOnly }),
  }
  const own = {
    ...parts,
    tools: withFurther(parts, administration),
    settings,
    streams: new TaskStreams(parts.env, parts.transports.onHttp),
    ...(options.shape === 'call' && { envelopes }),
  }
  const { routes, close } = createMcpRoutes(own)
  return {
    routes,
    close,
    session: createMcpSessions(own),
  }
}

type FurtherParts = Pick<McpSurfaceParts, 'tools' | 'catalog' | 'env' | 'toolkit' | 'isBare'>

/**
 * MCP tools can take files, and MCP has tasks: operations that require an attachment, and streams, are tools here, too.
 * With `administration`, so are the server's own operations.
 */
function withFurther({ tools, catalog, env, toolkit, isBare }: FurtherParts, administration: boolean): Tools {
  const isFurther = (operation: Operation) =>
    operation.internal ? administration : needsAttachment(operation) || isStreamTool(operation)
  // One client sees all of them: start-up fails if two have the same name.
  createTools(catalog, toolkit, (operation) => !operation.internal || administration, undefined, isBare)
  const others = createTools(catalog, toolkit, isFurther, warnOfLeftOut(env.log), isBare)
  return {
    ...tools,
    byName: (name, now) => tools.byName(name, now) ?? others.byName(name, now),
    list(now) {
      const added = others.list(now).filter((tool) => !tools.byName(tool.name, now))
      if (added.length === 0) return tools.list(now)
      return [...tools.list(now), ...added].sort((a, b) => (a.name < b.name ? -1 : 1))
    },
  }
}

function needsAttachment({ media, stream, tool }: Operation): boolean {
  return tool && !stream && media.some((slot) => slot.required)
}
