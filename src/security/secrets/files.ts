/**
 * Secrets in a folder, as Kubernetes and Docker mount them: a file is a value, a folder has one file per field. Links
 * are followed only inside the folder.
 */
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Secret } from '../../core/ports/secrets.ts'
import { decodeSecretText, MAX_SECRET_BYTES, type SecretProvider, unusableSecret } from './provider.ts'

const MAX_FIELDS = 100
/** Kubernetes puts all keys behind this link, and replaces the link to change them atomically. */
const CURRENT = '..data'

export function createFileSecrets(folder: string): SecretProvider {
  return {
    place: () => 'the folder of secrets',
    async read(name) {
      const root = await realpath(folder)
      try {
        return await readSecret(root, name)
      } catch (thrown) {
        // The file was replaced between finding and reading it, so it is read again.
        if (isAbsence(thrown)) return readSecret(root, name)
        throw thrown
      }
    },
  }
}

async function readSecret(root: string, name: string): Promise<Secret | undefined> {
  const place = await findInside(root, join(root, name))
  if (place === undefined) return undefined
  const info = await stat(place)
  return info.isDirectory() ? readFields(root, place) : { value: await readText(place) }
}

async function readFields(root: string, place: string): Promise<Secret | undefined> {
  const folder = (await findInside(root, join(place, CURRENT))) ?? place
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.'))
  if (names.length > MAX_FIELDS) throw unusableSecret(`its folder has more than ${MAX_FIELDS} files`)
  const fields = await Promise.all(
    names.map(async (name) => [name, await readText((await findInside(root, join(folder, name))) ?? place)] as const),
  )
  return fields.length > 0 ? { fields: Object.fromEntries(fields) } : undefined
}

async function readText(file: string): Promise<string> {
  const info = await stat(file)
  // Reading a pipe or a device could block forever.
  if (!info.isFile()) throw unusableSecret('it is not a plain file')
  if (info.size > MAX_SECRET_BYTES) throw unusableSecret(`it is larger than ${MAX_SECRET_BYTES} bytes`)
  return decodeSecretText(await readFile(file))
}

/** Returns the path with all links resolved, or `undefined` if it does not exist. */
async function findInside(root: string, path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path)
    if (real.startsWith(root.endsWith(sep) ? root : root + sep)) return real
  } catch (thrown) {
    if (isAbsence(thrown)) return undefined
    throw thrown
  }
  throw unusableSecret('it is a link to a place outside the folder of secrets')
}

function isAbsence(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR')
}
