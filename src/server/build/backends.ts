/** From what a definition says about where it runs to what runs it. A kind's code is loaded when a definition names it. */
import { createHandlerBackend } from '../../backends/handler/index.ts'
import type { HandlerContext } from '../../core/context.ts'
import { Fault } from '../../core/fault.ts'
import type { BackendSpec, OperationDefinition } from '../../core/operation.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'

type CreateBackend = (spec: BackendSpec, parts: BackendParts) => Backend
type ParseSettings = (spec: BackendSpec) => unknown

interface BackendKind {
  create: CreateBackend
  parse: ParseSettings
}

const KINDS: Readonly<Record<string, () => Promise<BackendKind>>> = {
  http: async () => {
    const { createHttpBackend, parseHttpSettings } = await import('../../backends/http/index.ts')
    return { create: createHttpBackend, parse: parseHttpSettings }
  },
  external: async () => {
    const { createExternalBackend, parseExternalSettings } = await import('../../backends/external/index.ts')
    return { create: createExternalBackend, parse: parseExternalSettings }
  },
  grpc: async () => {
    const { createGrpcBackend, parseGrpcSettings } = await import('../../backends/grpc/index.ts')
    return { create: createGrpcBackend, parse: parseGrpcSettings }
  },
  webhook: async () => {
    const { createWebhookBackend, parseWebhookSettings } = await import('../../backends/webhook/index.ts')
    return { create: createWebhookBackend, parse: parseWebhookSettings }
  },
  container: async () => {
    const { createContainerBackend, parseContainerSettings } = await import('../../backends/container/index.ts')
    return { create: createContainerBackend, parse: parseContainerSettings }
  },
  wasm: async () => {
    const { createWasmBackend, parseWasmSettings } = await import('../../backends/wasm/index.ts')
    return { create: createWasmBackend, parse: parseWasmSettings }
  },
}

/** By kind, what checks the settings of a declared backend. */
export async function loadBackendChecks(): Promise<Readonly<Record<string, ParseSettings>>> {
  const kinds = await Promise.all(
    Object.entries(KINDS).map(async ([kind, load]) => [kind, (await load()).parse] as const),
  )
  return Object.fromEntries(kinds)
}

export interface Backends<App> {
  create(definition: OperationDefinition<App>): Backend
  /** Lets go of what the backends hold. */
  close(): Promise<void>
}

export async function loadBackends<App>(
  definitions: readonly OperationDefinition<App>[],
  parts: BackendParts,
): Promise<Backends<App>> {
  const wanted = new Set(definitions.flatMap(({ backend }) => backend?.kind ?? []))
  const kinds = new Map<string, BackendKind>()
  for (const kind of wanted) kinds.set(kind, await loadKind(kind))
  const created: Backend[] = []
  return {
    create(definition) {
      const backend = createBackend(definition, kinds, parts)
      created.push(backend)
      return backend
    },
    async close() {
      await Promise.all(created.map((backend) => backend.close?.()))
    },
  }
}

async function loadKind(kind: string): Promise<BackendKind> {
  const load = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined
  if (load) return load()
  throw new Fault('malformed', `backend.kind "${kind}" is none of ${Object.keys(KINDS).join(', ')}.`, {
    code: 'INVALID_OPERATION',
  })
}

function createBackend<App>(
  definition: OperationDefinition<App>,
  kinds: ReadonlyMap<string, BackendKind>,
  parts: BackendParts,
): Backend {
  const { name, run, backend: spec } = definition
  if (spec) {
    try {
      const { folder = parts.folder } = definition
      return (kinds.get(spec.kind) as BackendKind).create(spec, { ...parts, folder })
    } catch (thrown) {
      throw thrown instanceof Fault ? new Fault(thrown.kind, `${name}: ${thrown.message}`, thrown.toRecord()) : thrown
    }
  }
  if (run) return createHandlerBackend((args, context) => run(args, context as HandlerContext & App))
  throw new Fault('malformed', `${name} has neither "run" nor "backend": nothing would run it.`, {
    code: 'INVALID_OPERATION',
  })
}

/** For descriptions: it knows its kind and runs nothing. */
export function describeBackend({ backend }: OperationDefinition): Backend {
  return {
    kind: backend?.kind ?? 'handler',
    execute() {
      throw new Fault('internal', 'This operation is described, not served.')
    },
  }
}
