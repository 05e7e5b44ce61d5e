/** `callplane secrets`: manages the encrypted secrets of a data folder. It never prints a value. */
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonValue } from '../../core/json.ts'
import type { Secret } from '../../core/ports/secrets.ts'
import { decodeSecretText, isSecretName, MAX_SECRET_BYTES } from '../../security/secrets/provider.ts'
import { badSecretName, type SecretStore } from '../../security/secrets/store.ts'
import { type StoredSecretsOptions, withStoredSecrets } from '../../server/open/stored-secrets.ts'
import { parseArguments } from '../arguments.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'

export const secrets: Command = {
  help: `
Usage: callplane secrets set <name> [--fields] [--data <folder>] [--store <url>] [--schema <name>]
       callplane secrets list [--json] [--data <folder>] [--store <url>] [--schema <name>]
       callplane secrets remove <name> [--data <folder>] [--store <url>] [--schema <name>]

The value is read from standard input, never from the command line, which other users of the machine can read. It is
sealed with CALLPLANE_VAULT_KEY, or with vault.key in the data folder, and cannot be printed again. An operation refers
to it by its name, in auth.secretRef. Stop the server that uses the folder first, unless it uses Postgres.

Options:
  --fields               Standard input is a JSON object of texts, such as {"client_id":"…","client_secret":"…"}.
  --data <folder>        The server's data folder (default: .callplane). Also CALLPLANE_DATA.
  --store <url>          The server's Postgres database, if it uses one. Also CALLPLANE_STORE.
  --schema <name>        The schema in that database (default: callplane).
  --json                 Prints the names as JSON.

Examples:
  callplane secrets set search-api-key < key.txt
  callplane secrets set crm --fields < crm.json
  callplane secrets list`,
  async run(io) {
    const { values, positionals } = parseArguments(
      io.args,
      {
        fields: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        data: { type: 'string' },
        store: { type: 'string' },
        schema: { type: 'string' },
      },
      2,
    )
    const [action = '', name] = positionals
    const act = ACTIONS.get(action)
    if (!act) throw usageFault('Name an action: callplane secrets set, list or remove.')
    if (action === 'list' && name !== undefined) throw usageFault(`Unexpected argument "${name}". Remove it.`)
    if (action !== 'list') checkName(name)
    // Read before the store is opened, because typing takes time.
    const secret = action === 'set' ? await readSecret(io, values.fields) : undefined
    const data = resolve(values.data ?? (io.env.CALLPLANE_DATA || '.callplane'))
    const store = values.store ?? (io.env.CALLPLANE_STORE || undefined)
    const { schema } = values
    if (schema !== undefined && store === undefined) throw usageFault('--schema needs --store or CALLPLANE_STORE.')
    return opened({ data, store, schema, io, create: action === 'set' }, (kept) =>
      act(kept, { io, name: name ?? '', secret, json: values.json }),
    )
  },
}

interface Wish {
  io: CommandIo
  name: string
  secret: Secret | undefined
  json: boolean
}

const ACTIONS: ReadonlyMap<string, (store: SecretStore, wish: Wish) => Promise<number>> = new Map([
  ['set', set],
  ['list', list],
  ['remove', remove],
])

async function set(store: SecretStore, { io, name, secret = {} }: Wish): Promise<number> {
  await store.set(name, secret)
  print(io.stdout, `Stored the secret ${name}.`)
  return EXIT.ok
}

async function list(store: SecretStore, { io, json }: Wish): Promise<number> {
  const names = await store.list()
  if (json) print(io.stdout, JSON.stringify(names))
  else for (const name of names) print(io.stdout, name)
  return EXIT.ok
}

async function remove(store: SecretStore, { io, name }: Wish): Promise<number> {
  if (!(await store.remove(name))) {
    throw new Fault('not-found', `There is no secret ${name}. Run "callplane secrets list" to see the existing ones.`)
  }
  print(io.stdout, `Removed the secret ${name}.`)
  return EXIT.ok
}

async function opened(
  { io, ...place }: Omit<StoredSecretsOptions, 'env'> & { io: CommandIo },
  use: (store: SecretStore) => Promise<number>,
): Promise<number> {
  try {
    return await withStoredSecrets({ ...place, env: io.env }, use)
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'STORAGE_LOCKED') throw thrown
    throw new Fault(
      'unavailable',
      `A server is using ${place.data}. Stop it, run this command again, and restart it.`,
      {
        cause: thrown,
      },
    )
  }
}

function checkName(name: string | undefined): void {
  if (name === undefined) throw usageFault('Name the secret, for example search-api-key.')
  if (!isSecretName(name)) throw usageFault(badSecretName(name).message)
}

async function readSecret({ stdin, stderr }: CommandIo, fields: boolean): Promise<Secret> {
  if (stdin.isTTY) print(stderr, 'Type the value (it is visible), then press Enter and Ctrl-D.')
  const bytes = await buffer(stdin)
  if (bytes.length > MAX_SECRET_BYTES) throw usageFault(`A secret can have at most ${MAX_SECRET_BYTES} bytes.`)
  const text = decodeSecretText(bytes)
  if (text === '') throw usageFault('Standard input is empty. Pass the value there, as in "… < key.txt".')
  return fields ? { fields: parseFields(text) } : { value: text }
}

function parseFields(text: string): Record<string, string> {
  const parsed = parseJson(text)
  const entries = isJsonObject(parsed) ? Object.entries(parsed) : []
  if (entries.length > 0 && entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) {
    return Object.fromEntries(entries)
  }
  throw usageFault('With --fields, standard input must be a JSON object of strings, such as {"client_id":"a"}.')
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    // The parser's message quotes the text, which is a secret.
    return undefined
  }
}
