/** Where the credentials come from: the options, the environment, a credentials file, or a provider of the AWS SDK. */
import { Fault } from '../../../core/fault.ts'
import type { SigningKey } from '../http/sigv4.ts'
import { credentialsFile } from './file.ts'

export interface S3Credentials extends SigningKey {
  /** They are renewed before this time. Absent: they do not expire. */
  expiration?: Date
}

/** As the providers of `@aws-sdk/credential-providers` are. */
export type S3CredentialProvider = () => Promise<S3Credentials>

export interface CredentialWishes {
  /** The option of the program. */
  given?: S3Credentials | S3CredentialProvider
  /** The profile of a credentials file. */
  profile?: string
  /** The name of a provider, such as `fromTokenFile`. */
  provider?: string
}

const SDK = '@aws-sdk/credential-providers'

/** Settles where they come from once, at the start. The file and the provider are asked again when needed. */
export async function chooseProvider(wishes: CredentialWishes, env: NodeJS.ProcessEnv): Promise<S3CredentialProvider> {
  const { given, profile, provider } = wishes
  if (typeof given === 'function') return given
  if (given) return async () => given
  if (provider !== undefined) return sdkProvider(provider, profile)
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env
  if (profile === undefined && accessKeyId && secretAccessKey) {
    const fromEnvironment = { accessKeyId, secretAccessKey, ...(token && { sessionToken: token }) }
    return async () => fromEnvironment
  }
  return credentialsFile(profile ?? (env.AWS_PROFILE || 'default'), env)
}

/** Web identity, instance roles, containers, single sign-on: the AWS SDK knows them all. */
async function sdkProvider(name: string, profile: string | undefined): Promise<S3CredentialProvider> {
  const library = await loadSdk()
  const create = Object.hasOwn(library, name) ? library[name] : undefined
  if (typeof create !== 'function') {
    const known = Object.keys(library).filter((each) => each.startsWith('from'))
    throw new Fault('malformed', `${SDK} has no provider "${name}". It has ${known.join(', ')}.`, {
      code: 'INVALID_OPTION',
    })
  }
  return create(profile === undefined ? {} : { profile }) as S3CredentialProvider
}

async function loadSdk(): Promise<Record<string, unknown>> {
  try {
    return { ...(await import('@aws-sdk/credential-providers')) }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Fault(
      'malformed',
      `"credentials" in the address of the object storage needs a package: npm install ${SDK}`,
      {
        code: 'PACKAGE_MISSING',
        cause,
      },
    )
  }
}
