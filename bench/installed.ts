/** Which of the peers' packages are there. One that is missing takes its contender out of the run, and nobody else's. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** The version that is found from here, or nothing. */
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

/** Says by name who is left out and how to have them next time; gives back the others. */
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

/** Of everything that was measured, or measured with. */
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
