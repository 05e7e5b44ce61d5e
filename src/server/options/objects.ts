/** The option `objects`: where the bytes of results, chunks and attachments are kept. */
import { Fault } from '../../core/fault.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { S3CredentialProvider, S3Credentials } from '../../objects/s3/index.ts'

/** The address of a bucket, with credentials that the address must not contain. */
export interface S3Settings {
  /** `s3://bucket/prefix?region=…&endpoint=…` */
  url: string
  /**
   * Keys, or a function that returns the current ones, such as a provider of `@aws-sdk/credential-providers`. Default:
   * the environment, or else the shared credentials file.
   */
  credentials?: S3Credentials | S3CredentialProvider
}

export type ObjectsOption = ObjectStore | S3Settings | string

const NAMES: Record<keyof S3Settings, true> = { url: true, credentials: true }

/** The settings of a bucket. `undefined` if the option is an object store of the application. */
export function bucketOf(option: ObjectsOption): S3Settings | undefined {
  if (typeof option === 'string') return { url: option }
  return 'url' in option ? option : undefined
}

export function checkObjects(option: ObjectsOption): void {
  const settings = bucketOf(option)
  if (!settings) return
  const unknown = Object.keys(settings).find((name) => !Object.hasOwn(NAMES, name))
  if (unknown !== undefined) throw refused(`objects has no option "${unknown}". The options are url and credentials.`)
  if (typeof settings.url !== 'string' || !settings.url.startsWith('s3://'))
    throw refused('objects must be an object store, or the address of a bucket: s3://bucket/prefix?region=…')
}

function refused(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION' })
}
