/** `/openapi.json`: the operations that the caller may see, for tools that read OpenAPI. */
import type { Handle, Refuse, Route } from '../../core/ports/exchange.ts'
import { createRegistryDocument, type RegistryDocument } from '../../protocols/opencall/index.ts'
import type { Mounting } from './surfaces.ts'

type Parts = Pick<Mounting, 'catalog' | 'env' | 'identify' | 'transports'> & { publicUrl: string | undefined }

export function createOpenApiRoute({ catalog, env, identify, transports, publicUrl }: Parts, refuse: Refuse): Route {
  // Without a public address, the server is where the document is, at whatever path a host has mounted it.
  const url = publicUrl ?? '.'
  const load = async (): Promise<Handle> => {
    // Loaded on use: most servers are never asked for it.
    const { openApiText } = await import('../../codegen/index.ts')
    const render = (document: RegistryDocument) => openApiText(document, { url })
    const listed = { listRemoved: false, transports: transports.names() }
    return createRegistryDocument(catalog, env, identify, listed, render)
  }
  let handle: Promise<Handle> | undefined
  return {
    path: '/openapi.json',
    refuse,
    methods: {
      async GET(exchange, params) {
        handle ??= load()
        return (await handle)(exchange, params)
      },
    },
  }
}
