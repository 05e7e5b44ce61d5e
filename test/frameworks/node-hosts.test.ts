/** The Node frameworks of docs/guides/frameworks.md, each as the page shows it, in a process of its own. */
import { describe, test } from 'vitest'
import { useMounted } from './mounted.ts'
import { startHost } from './project.ts'

describe.each([['express'], ['fastify'], ['nest'], ['hono'], ['h3']])('%s, as the page shows it', (framework) => {
  test('serves every protocol, and every link is below the path', async () => {
    const origin = await startHost({ file: `${framework}.ts` })

    await useMounted({ base: `${origin}/api`, webSocket: true })
  })
})
