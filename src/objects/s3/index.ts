/** Stores objects in a bucket of S3 or of a server that speaks its API, for any number of nodes. */
import { Fault } from '../../core/fault.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import { openChunkWriter } from '../../platform/objects/chunk-writer.ts'
import { Bucket } from './bucket.ts'
import { createBudget } from './budget.ts'
import { Chunks } from './chunks.ts'
import { createRenewal } from './credentials/renewal.ts'
import { type CredentialWishes, chooseProvider } from './credentials/source.ts'
import { readObject } from './download.ts'
import { createFreshness } from './freshness.ts'
import { createClient } from './http/client.ts'
import { createKeys } from './keys.ts'
import { OwnerList, Removals } from './owners.ts'
import { probe } from './probe.ts'
import { parseTarget } from './target.ts'
import { linkTo, objectInfo, putObject } from './whole.ts'

export type { S3CredentialProvider, S3Credentials } from './credentials/source.ts'

export interface S3Options {
  /** `s3://bucket/prefix?region=…&endpoint=…` */
  url: string
  credentials?: CredentialWishes['given']
  clock: Clock
  log: Pick<Log, 'warn'>
  env: NodeJS.ProcessEnv
  /** Keeps a secret out of logs. */
  conceal(value: string): () => void
  random?(): number
  /** Objects up to this size are sent with one request, larger ones in parts of it. Default: 8 MiB. */
  partBytes?: number
  /** The memory of all uploads together. Default: 256 MiB. */
  uploadBytes?: number
  connectMs?: number
  idleMs?: number
  /** Connections for everything but downloads. Default: 64. */
  maxConnections?: number
}

export interface S3Objects extends ObjectStore {
  link(id: string, forMs: number): Promise<string | undefined>
  close(): void
}

const PART_BYTES = 8 * 1024 * 1024
const UPLOAD_BYTES = 256 * 1024 * 1024
/** How long an upload waits for the memory of others. */
const ROOM_WAIT_MS = 30_000

/** Fails if the bucket cannot be used. If it cannot be reached now, it logs a warning, and calls without objects run. */
export async function openS3Objects(options: S3Options): Promise<S3Objects> {
  const { clock, log, conceal, env, random = Math.random, credentials: given } = options
  const { partBytes = PART_BYTES, uploadBytes = UPLOAD_BYTES, connectMs = 5_000, idleMs = 20_000 } = options
  const target = parseTarget(options.url, env)
  const { profile, provider } = target
  const wishes = {
    ...(given && { given }),
    ...(profile !== undefined && { profile }),
    ...(provider !== undefined && { provider }),
  }
  const credentials = createRenewal({ provider: await chooseProvider(wishes, env), clock, log, conceal })
  const { maxConnections = 64 } = options
  const client = createClient({
    target,
    credentials,
    clock,
    random,
    log,
    maxConnections,
    timeouts: { connectMs, idleMs },
  })
  const bucket = new Bucket(client, target)
  const keys = createKeys(target.prefix)
  const chunks = new Chunks(bucket, keys)
  const removals = new Removals(bucket, keys)
  const owners = new OwnerList(bucket, keys, clock)
  const keepFresh = createFreshness(bucket, keys, clock, log)
  const budget = createBudget(uploadBytes, ROOM_WAIT_MS, clock)
  const whole = { bucket, keys, budget, log, partBytes, keepFresh }
  try {
    await probe(bucket, keys, log)
  } catch (thrown) {
    client.close()
    throw Fault.from(thrown)
  }
  return {
    put: async (id, source, put) => putObject(whole, id, source, { ...put, createdAt: clock.now() }),
    info: (id) => objectInfo(bucket, keys, id),
    read: (id, range) => readObject(bucket, keys, id, range),
    writeChunks: async (id, wish) => openChunkWriter(chunks.place(id), wish),
    chunk: (id, index) => chunks.read(id, index),
    chunks: (id) => chunks.info(id),
    removeOwner: async (owner) => removals.remove(owner),
    owners: (untouchedForMs) => owners.untouched(untouchedForMs),
    link: (id, forMs) => linkTo(bucket, keys, id, forMs),
    close: () => client.close(),
  }
}
