/** The MQTT broker mosquitto, for MQTT 5 and 3.1.1. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from './engines.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServer } from './server-process.ts'

export interface MosquittoOptions {
  /** Passwords by user name. */
  users?: Readonly<Record<string, string>>
  /** Default: true if there are no users. */
  allowAnonymous?: boolean
  /** Further lines of `mosquitto.conf`. */
  settings?: readonly string[]
}

export interface Mosquitto extends ServerProcess {
  readonly port: number
  readonly url: string
}

export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const { users = {}, allowAnonymous = Object.keys(users).length === 0, settings = [] } = options
  const folder = await mkdtemp(join(tmpdir(), 'callplane-mosquitto-'))
  const port = await freePort()
  const passwords = join(folder, 'passwords')
  const config = join(folder, 'mosquitto.conf')
  await writePasswords(passwords, users)
  const lines = [
    `listener ${port} 127.0.0.1`,
    `allow_anonymous ${allowAnonymous}`,
    `password_file ${passwords}`,
    // Started by root, it would change to a user who cannot write to the folder.
    `user ${userInfo().username}`,
    'persistence true',
    `persistence_location ${folder}/`,
    // Saves after every change. The default is every half hour, so that a kill would lose all messages.
    'autosave_on_changes true',
    'autosave_interval 1',
    ...settings,
  ]
  await writeFile(config, `${lines.join('\n')}\n`)
  const server = await startServer({
    command: [findProgram('mosquitto') ?? 'mosquitto', '-c', config],
    readyLine: ' running',
  })
  return {
    ...server,
    port,
    url: `mqtt://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function writePasswords(file: string, users: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(users).map(([name, password]) => `${name}:${password}\n`)
  await writeFile(file, lines.join(''), { mode: 0o600 })
  // Replaces each password with its hash.
  if (lines.length > 0) await promisify(execFile)('mosquitto_passwd', ['-U', file])
}
