/** Creates the backend that a definition asks for. The code of a backend kind is loaded when a definition names it. */
import { containerTraits } from '../../backends/container/traits.ts'
import { externalTraits } from '../../backends/external/traits.ts'
import { grpcTraits } from '../../backends/grpc/traits.ts'
import { createHandlerBackend, handlerTraits } from '../../backends/handler/index.ts'
import { httpTraits } from '../../backends/http/traits.ts'
import { mcpTraits } from '../../backends/mcp/traits.ts'
import { wasmTraits } from '../../backends/wasm/traits.ts'
import { webhookTraits } from '../../backends/webhook/traits.ts'
import type { HandlerContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { BackendSpec, OperationDefinition } from '../../core/operation/operation.ts'
import type { Backend, BackendKind, BackendParts, BackendTraits } from '../../core/ports/backend.ts'
import type { BackendChecks } from '../declarations/entry.ts'

interface DeclarableKind {
  traits: BackendTraits
  load(): Promise<BackendKind>
}

/** The kinds that `backend.kind` can name. */
const DECLARABLE: readonly DeclarableKind[] = [
  {
    traits: httpTraits,
    async load() {
      const { createHttpBackend, parseHttpSettings } = await import('../../backends/http/index.ts')
      return { create: createHttpBackend, parse: parseHttpSettings }
    },
  },
  {
    traits: externalTraits,
    async load() {
      const { createExternalBackend, parseExternalSettings } = await import('../../backends/external/index.ts')
      return { create: createExternalBackend, parse: parseExternalSettings }
    },
  },
  {
    traits: grpcTraits,
    async load() {
      const { createGrpcBackend, parseGrpcSettings } = await import('../../backends/grpc/index.ts')
      return { create: createGrpcBackend, parse: parseGrpcSettings }
    },
  },
  {
    traits: webhookTraits,
    async load() {
      const { createWebhookBackend, parseWebhookSettings } = await import('../../backends/webhook/index.ts')
      return { create: createWebhookBackend, parse: parseWebhookSettings }
    },
  },
  {
    traits: containerTraits,
    async load() {
      const { createContainerBackend, parseContainerSettings } = await import('../../backends/container/index.ts')
      return { create: createContainerBackend, parse: parseContainerSettings }
    },
  },
  {
    traits: wasmTraits,
    async load() {
      const { createWasmBackend, parseWasmSettings } = await import('../../backends/wasm/index.ts')
      return { create: createWasmBackend, parse: parseWasmSettings }
    },
  },
]

/** The traits of each kind, including imported tools and functions. */
const TRAITS: ReadonlyMap<string, BackendTraits> = new Map(
  [handlerTraits, mcpTraits, ...DECLARABLE.map(({ traits }) => traits)].map((traits) => [traits.kind, traits]),
)

/** True if backends of this kind are sandboxes. `undefined` if there is no such kind. */
export function isolationOf(kind: string): boolean | undefined {
  const traits = TRAITS.get(kind)
  return traits && traits.isolated === true
}

/** The checks for declarations, by kind. A kind that an operation cannot name has no `parse`. */
export async function loadBackendChecks(): Promise<BackendChecks> {
  const kinds = DECLARABLE.map(
    async ({ traits, load }) => [traits.kind, { traits, parse: (await load()).parse }] as const,
  )
  return { [mcpTraits.kind]: { traits: mcpTraits }, ...Object.fromEntries(await Promise.all(kinds)) }
}

export interface Backends<App> {
  create(definition: OperationDefinition<App>): Backend
  /** Releases the resources of the backends. */
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
  const found = DECLARABLE.find(({ traits }) => traits.kind === kind)
  if (found) return found.load()
  const kinds = DECLARABLE.map(({ traits }) => traits.kind).join(', ')
  throw new Fault('malformed', `backend.kind "${kind}" does not exist. Use one of ${kinds}.`, {
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
      const created = (kinds.get(spec.kind) as BackendKind).create(spec, { ...parts, folder })
      const about = aboutOf(spec)
      return about === undefined ? created : withAbout(created, about)
    } catch (thrown) {
      throw thrown instanceof Fault ? new Fault(thrown.kind, `${name}: ${thrown.message}`, thrown.toRecord()) : thrown
    }
  }
  if (run) return createHandlerBackend((args, context) => run(args, context as HandlerContext & App))
  throw new Fault('malformed', `${name} has neither "run" nor "backend". Add one of them.`, {
    code: 'INVALID_OPERATION',
  })
}

/** Where the tool is. A query can contain a key, so it is left out. */
function aboutOf({ endpoint, image, module }: BackendSpec): string | undefined {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  if (url) return url.origin + url.pathname
  return [image, module].find((value) => typeof value === 'string')
}

/** A backend can be an object with private fields, so it is not copied. */
function withAbout(backend: Backend, about: string): Backend {
  return Object.defineProperty(backend, 'about', { value: about, enumerable: true })
}

/** For descriptions and policy tests: has the traits of the real backend, but opens and runs nothing. */
export function describeBackend({ backend }: Pick<OperationDefinition, 'backend'>): Backend {
  const kind = backend?.kind
  return {
    ...(kind === undefined ? handlerTraits : (TRAITS.get(kind) ?? { kind })),
    execute() {
      throw new Fault('internal', 'This operation is only described; this process cannot run it.')
    },
  }
}
