/** A Next.js application with the route of docs/guides/frameworks.md, built and started as a user does. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished, test, vi } from 'vitest'
import { buildConsole } from '../../scripts/console-files.ts'
import { ROOT } from '../docs/pages.ts'
import { describeWith, LARGE_PACKAGES, largePackages } from '../engines/engines.ts'
import { freePort } from '../engines/free-port.ts'
import { startServer } from '../engines/server-process.ts'
import { readConsole, useMounted } from './mounted.ts'
import { createProject } from './project.ts'

// The build alone takes half a minute on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const NEXT = join(LARGE_PACKAGES, 'next/dist/bin/next')
const ENVIRONMENT = ['NODE_OPTIONS=--conditions=callplane-source', 'NEXT_TELEMETRY_DISABLED=1']

/** Next.js keeps the files of this package outside of its bundle, so they cannot be TypeScript. */
const INSTALLED = {
  'node_modules/callplane/package.json': JSON.stringify({
    name: 'callplane',
    version: '1.0.0',
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
  }),
  'node_modules/callplane/index.js': `export * from ${JSON.stringify(join(ROOT, 'src/index.ts'))}\n`,
  // The documentation's tests check its types.
  'node_modules/callplane/index.d.ts': `export interface CallplaneServer { fetch(request: Request): Promise<Response> }
export const createServer: (options: object) => Promise<CallplaneServer>
export const operation: any
export const jsonSchema: <T>(schema: object) => any
`,
  'app/layout.tsx': `export default function Layout({ children }: { children: React.ReactNode }) {
  return <html><body>{children}</body></html>
}
`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: { allowImportingTsExtensions: true, noEmit: true, jsx: 'react-jsx', moduleResolution: 'bundler' },
    include: ['app', 'next-env.d.ts'],
  }),
}

describeWith(largePackages, 'Next.js, as the page shows it', () => {
  test('serves every protocol in an application that was built, and every link is below the path', async () => {
    await buildConsole()
    // Below the folder of its packages: Turbopack follows no link that leads out of the project.
    const folder = await createProject(dirname(LARGE_PACKAGES))
    for (const [name, content] of Object.entries(INSTALLED)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), content)
    }
    const next = ['--chdir', folder, ...ENVIRONMENT, process.execPath, NEXT]
    await promisify(execFile)('env', [...next, 'build'])
    const port = await freePort()
    const command = ['env', ...next, 'start', '--port', String(port), '--hostname', '127.0.0.1'] as const
    const app = await startServer({ command, readyLine: 'Ready' })
    onTestFinished(() => app[Symbol.asyncDispose]())

    await useMounted({ base: `http://127.0.0.1:${port}/api`, webSocket: false })
    await readConsole(`http://127.0.0.1:${port}/api`)
  })
})
