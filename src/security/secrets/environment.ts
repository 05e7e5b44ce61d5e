/** Secrets in environment variables: `search-api-key` is in `CALLPLANE_SECRET_SEARCH_API_KEY`. */
import type { Secret } from '../../core/ports/secrets.ts'
import type { SecretProvider } from './provider.ts'

export type Variables = Readonly<Record<string, string | undefined>>

export const DEFAULT_PREFIX = 'CALLPLANE_SECRET_'
/** Separates the secret from one of its fields: `…SEARCH__CLIENT_ID` is `client_id` of `search`. */
const FIELD = '__'

export function createEnvironmentSecrets(env: Variables, prefix = DEFAULT_PREFIX): SecretProvider {
  const variableOf = (name: string) => prefix + name.toUpperCase().replace(/[^A-Z0-9]/g, '_')
  return {
    place: (name) => `the environment (${variableOf(name)})`,
    async read(name) {
      const variable = variableOf(name)
      const value = env[variable]
      const fields = fieldsOf(env, variable + FIELD)
      // An empty variable comes from an unfilled template and is not a secret.
      if (!value && !fields) return undefined
      return { ...(value && { value }), ...(fields && { fields }) } satisfies Secret
    },
  }
}

function fieldsOf(env: Variables, start: string): Record<string, string> | undefined {
  const fields = Object.entries(env).flatMap(([variable, value]): [string, string][] =>
    value && variable.startsWith(start) && variable.length > start.length
      ? [[variable.slice(start.length).toLowerCase(), value]]
      : [],
  )
  return fields.length > 0 ? Object.fromEntries(fields) : undefined
}
