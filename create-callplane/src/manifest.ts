/** The package.json of a new project. The versions are those that the tests of this repository run with. */
import { readFileSync } from 'node:fs'

export const VERSIONS = { '@types/node': '24.19.2', typescript: '6.0.3', vitest: '4.1.12', zod: '4.6.7' } as const

/** What vitest brings along. Newer ones may lack the binary of a platform, and `npm ci` refuses the lock file then. */
export const OVERRIDES = { rolldown: '1.2.14', vite: '8.3.5' } as const

/** Both packages are released together, under one version. */
function ownVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

export function manifestOf(name: string, callplane: string = ownVersion()): string {
  const { zod, ...development } = VERSIONS
  const manifest = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    scripts: {
      start: 'callplane serve operations --policy policy.yaml',
      dev: 'callplane serve operations --policy policy.yaml --watch',
      call: 'node client.ts',
      test: 'vitest run',
      check: 'tsc',
    },
    dependencies: { callplane, zod },
    devDependencies: development,
    overrides: OVERRIDES,
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}
