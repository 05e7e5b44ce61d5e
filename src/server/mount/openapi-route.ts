/** `/openapi.json`: the operations that the caller may see, for tools that read OpenAPI. */
import type { Handle, Refuse, Route } from '../../core/ports/exchange.ts'
import { createPublishedDocument, encodeRegistry } from '../../protocols/opencall/index.ts'
import type { Mounting } from './surfaces.ts'

type Parts = Pick<Mounting, 'catalog' | 'env' | 'identify' | 'transports'> & { publicUrl: string | undefined }

export function createOpenApiRoute({ catalog, env, identify, transports, publicUrl }: Parts, refuse: Refuse): Route {
  const load = async (): Promise<Handle> => {
    // Loaded on use: most servers are never asked for it.
    const { openApiText } = await import('../../codegen/index.ts')
    return createPublishedDocument({ catalog, env, identify }, ({ now, internal, basePath }) => {
      const url = publicUrl ?? basePath
      const text = openApiText(encodeRegistry(catalog, now, { internal, transports: transports.names() }), { url })
      return { text, tag: env.digest(text).slice(0, 32) }
    })
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
