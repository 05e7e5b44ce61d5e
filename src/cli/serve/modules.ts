/**
 * Finds the files of a path: the file itself, or every module and every YAML file in a folder. Skips tests, type
 * declarations and packages.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { usageFault } from '../command.ts'

const MODULE = /\.(?:ts|mts|js|mjs)$/
const YAML = /\.ya?ml$/
const LEFT_OUT = /\.(?:test|spec)\.|\.d\.m?ts$/
const DEFAULTS = ['operations', 'operations.ts', 'operations.js', 'operations.mjs']

/** A YAML file declares tools. */
export function isYaml(fileName: string): boolean {
  return YAML.test(fileName)
}

export function isModule(fileName: string): boolean {
  return (MODULE.test(fileName) || isYaml(fileName)) && !LEFT_OUT.test(fileName)
}

export function findModules(path: string | undefined): string[] {
  const place = path ?? DEFAULTS.find((name) => existsSync(name))
  if (place === undefined)
    throw usageFault('Name the file or the folder that holds the operations: callplane serve operations.ts')
  if (!existsSync(place)) throw usageFault(`There is no file or folder "${place}".`)
  if (!statSync(place).isDirectory()) return [resolve(place)]
  const modules = modulesIn(resolve(place))
  if (modules.length === 0) throw usageFault(`The folder "${place}" holds no .ts, .js, .mjs or .yaml file.`)
  return modules
}

/** Like `findModules`, without a policy file in the same folder: it declares no operations. */
export function findModulesBeside(policy: string | undefined, path: string | undefined): string[] {
  const modules = findModules(path)
  return policy === undefined ? modules : modules.filter((file) => file !== resolve(policy))
}

function modulesIn(folder: string): string[] {
  const entries = readdirSync(folder).sort()
  return entries.flatMap((name) => {
    if (name.startsWith('.') || name === 'node_modules') return []
    const path = join(folder, name)
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) return modulesIn(path)
    return found?.isFile() && isModule(name) ? [path] : []
  })
}
