/** The contents of the published package, and the links between its pages. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { nodeTooOld } from '../../src/server/open/node-version.ts'

const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Without what `npm run build` makes: nothing links to it. */
function packedFiles(): string[] {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root })
  const [{ files }] = JSON.parse(listed.toString())
  return files.map(({ path }: { path: string }) => path)
}

function linksIn(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '')
  const targets = [...text.replaceAll(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, target]) => target as string,
  )
  return targets
    .filter((target) => !/^(https?:|mailto:|#)/.test(target))
    .map((target) => target.split('#', 1)[0] as string)
}

test('every link of every packed page leads to something that is packed, too', () => {
  const files = packedFiles()
  const folders = new Set(files.flatMap((file) => parentsOf(file)))
  const pages = files.filter((file) => file.endsWith('.md'))

  const dead = pages.flatMap((page) =>
    linksIn(page)
      .map((target) => normalize(join(dirname(page), target)).replace(/\/$/, ''))
      .filter((target) => !files.includes(target) && !folders.has(target))
      .map((target) => `${page} → ${target}`),
  )

  expect(pages).toContain('README.md')
  expect(pages).toContain('docs/reference/configuration.md')
  expect(dead).toEqual([])
})

test('the command that a Node is too old for names the version that package.json asks for', () => {
  const [, oldest] = /^>=(\d+\.\d+)$/.exec(manifest.engines.node) ?? []

  expect(nodeTooOld(`${oldest}.0`)).toBeUndefined()
  expect(nodeTooOld('24.1.0')).toBeUndefined()
  expect(nodeTooOld('22.17.9')).toContain(`Node ${oldest} or newer`)
  expect(nodeTooOld('18.20.1')).toContain('This is Node 18.20.1')
  expect(manifest.bin.callplane).toBe('dist/cli/start.js')
})

/** `npm ci` refuses a lock that lacks an optional package of another platform, also where that platform is not ours. */
test.each(['package-lock.json', 'bench/package-lock.json'])(
  '%s has the optional packages of every platform',
  (lock) => {
    const { packages } = JSON.parse(readFileSync(join(root, lock), 'utf8')) as { packages: Record<string, Entry> }
    const names = new Set(Object.keys(packages).map((path) => path.split('node_modules/').pop()))

    const missing = Object.entries(packages)
      .filter(([, entry]) => !entry.link)
      .flatMap(([path, entry]) => Object.keys(entry.optionalDependencies ?? {}).map((name) => ({ path, name })))
      .filter(({ name }) => !names.has(name))

    expect(missing).toEqual([])
  },
)

interface Entry {
  link?: boolean
  optionalDependencies?: Record<string, string>
}

function parentsOf(file: string): string[] {
  const parent = dirname(file)
  return parent === '.' ? [] : [parent, ...parentsOf(parent)]
}
