/**
 * The administrator's credential: a token in a file of the data folder. Every user who can read that folder can
 * administer the server, with or without authentication. The command line reads it there.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import { SCOPES } from '../../core/operation/scopes.ts'
import { STATIC_ISSUER } from '../../security/identity/tokens.ts'
import { readOrCreateFile } from './key-file.ts'

const PREFIX = 'cpadmin_'
const TOKEN = /^cpadmin_[\w-]{43}$/
const BEARER = /^bearer +(cpadmin_[\w-]{43}) *$/i

/** Returns the administrator if the request has the token. `header` takes lower-case names. */
export type RecognizeAdmin = (header: (name: string) => string | undefined) => Caller | undefined

export function createAdminRecognition(token: string, tenant = 'main'): RecognizeAdmin {
  const expected = digestOf(token)
  const admin: Caller = { tenant, issuer: STATIC_ISSUER, subject: 'admin', scopes: ['*', SCOPES.admin] }
  return (header) => {
    const authorization = header('authorization')
    // Nearly every credential is another one. Running the pattern on each took longer than finding the prefix.
    if (authorization === undefined || !authorization.includes(PREFIX)) return undefined
    const sent = BEARER.exec(authorization)?.[1]
    return sent !== undefined && timingSafeEqual(digestOf(sent), expected) ? admin : undefined
  }
}

export function readOrCreateAdminToken(folder: string): string {
  const file = fileIn(folder)
  const token = decode(readOrCreateFile(file, () => Buffer.from(`cpadmin_${randomBytes(32).toString('base64url')}\n`)))
  if (TOKEN.test(token)) return token
  throw new Fault('unavailable', `${file} contains no valid token. Delete it to create a new one.`, {
    code: 'KEY_DAMAGED',
  })
}

/** Returns the token that the folder's server created. `undefined` if there is none or it cannot be read. */
export function findAdminToken(folder: string): string | undefined {
  try {
    return decode(readFileSync(fileIn(folder)))
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR') return undefined
    throw thrown
  }
}

function fileIn(folder: string): string {
  return join(folder, 'admin.token')
}

function decode(content: Uint8Array): string {
  return Buffer.from(content).toString('utf8').trim()
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
