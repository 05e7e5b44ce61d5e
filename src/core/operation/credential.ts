/** Declares the credential that an operation shows to a remote tool. It names a secret and never contains one. */
import { Fault } from '../fault.ts'

export type AuthProfile = 'bearer' | 'api_key_header' | 'basic' | 'oauth2_client_credentials'

export interface AuthBinding {
  profile: AuthProfile
  /** The name of the secret. */
  secretRef: string
  /** For `api_key_header`. */
  headerName?: string
  /** For `oauth2_client_credentials`. */
  tokenURL?: string
  scopes?: readonly string[]
}

/** As declared; the profile is optional. */
export type AuthDeclaration = Omit<AuthBinding, 'profile'> & { profile?: AuthProfile }

const PROFILES: readonly AuthProfile[] = ['bearer', 'api_key_header', 'basic', 'oauth2_client_credentials']

/** Tool Contract v1, "Auth Binding". */
export function parseAuth(declared: AuthDeclaration): AuthBinding {
  const auth: AuthBinding = { ...declared, profile: declared.profile ?? 'bearer' }
  require(PROFILES.includes(auth.profile), `auth.profile "${auth.profile}" is none of ${PROFILES.join(', ')}.`)
  require(isText(auth.secretRef), 'auth.secretRef is missing: name the secret that holds the credential.')
  require(auth.profile !== 'api_key_header' ||
    (isText(auth.headerName) &&
      /^[!#$%&'*+.^_`|~\w-]+$/.test(
        auth.headerName,
      )), 'auth.headerName is missing or no header name: api_key_header needs one, such as X-Api-Key.')
  require(auth.profile !== 'oauth2_client_credentials' ||
    (isText(auth.tokenURL) &&
      URL.canParse(
        auth.tokenURL,
      )), 'auth.tokenURL is missing or no URL: oauth2_client_credentials needs the address of the token endpoint.')
  return auth
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

function require(condition: boolean, problem: string): void {
  if (!condition) throw new Fault('policy-invalid', problem)
}
