/** Finds which of the peers' packages are installed. A missing package removes only its own contender from the run. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** Returns the version that resolves from here, or `undefined`. */
export function installedVersion(name: string): string | undefined {
  try {
    const manifest = findPackageJSON(name, import.meta.url)
    if (manifest === undefined) return undefined
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw thrown
  }
}

/** Prints which contenders are skipped and how to install them. Returns the others. */
export function keepInstalled<T extends { name: string; needs?: readonly string[] }>(
  contenders: readonly T[],
  say: (line: string) => void,
): T[] {
  return contenders.filter(({ name, needs = [] }) => {
    const missing = needs.filter((needed) => installedVersion(needed) === undefined)
    if (missing.length > 0) say(`skipped: ${name} (no ${missing.join(', ')}; "npm ci --prefix bench" installs it)`)
    return missing.length === 0
  })
}

/** Versions of all packages that were measured or used to measure. */
export function installedVersions(): Record<string, string> {
  const manifest = new URL('./package.json', import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as { dependencies: Record<string, string> }
  return Object.fromEntries(
    Object.keys(dependencies).flatMap((name) => {
      const version = installedVersion(name)
      return version === undefined ? [] : [[name, version]]
    }),
  )
}
