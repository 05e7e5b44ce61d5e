/** The Node frameworks of docs/guides/frameworks.md, each as the page shows it, in a process of its own. */
import { beforeAll, describe, test } from 'vitest'
import { buildConsole } from '../../scripts/console-files.ts'
import { readConsole, useMounted } from './mounted.ts'
import { startHost } from './project.ts'

beforeAll(async () => void (await buildConsole()), 60_000)

describe.each([['express'], ['fastify'], ['nest'], ['hono'], ['h3']])('%s, as the page shows it', (framework) => {
  test('serves every protocol, and every link is below the path', async () => {
    const origin = await startHost({ file: `${framework}.ts` })

    await useMounted({ base: `${origin}/api`, webSocket: true })
    await readConsole(`${origin}/api`)
  })
})
