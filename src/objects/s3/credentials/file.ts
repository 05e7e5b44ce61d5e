/** The shared credentials file of AWS tools: sections in brackets, and one `name = value` per line. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../../../core/fault.ts'
import type { S3CredentialProvider } from './source.ts'

/** Read at every renewal, because other tools replace the keys in it. */
export function credentialsFile(profile: string, env: NodeJS.ProcessEnv): S3CredentialProvider {
  const path = env.AWS_SHARED_CREDENTIALS_FILE || join(homedir(), '.aws', 'credentials')
  return async () => {
    const section = parseIni(await read(path)).get(profile)
    const accessKeyId = section?.get('aws_access_key_id')
    const secretAccessKey = section?.get('aws_secret_access_key')
    if (!accessKeyId || !secretAccessKey) {
      throw missing(
        section
          ? `The profile "${profile}" in ${path} has no keys. For roles and single sign-on, use credentials=fromIni with @aws-sdk/credential-providers.`
          : `There is no profile "${profile}" in ${path}.`,
      )
    }
    const sessionToken = section?.get('aws_session_token')
    return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
  }
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { code = 'unreadable' } = cause as NodeJS.ErrnoException
    throw missing(`The credentials file ${path} cannot be read (${code}).`, cause)
  }
}

function parseIni(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>()
  let section: Map<string, string> | undefined
  for (const line of text.split(/\r?\n/)) {
    const name = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1]
    if (name !== undefined) {
      section = sections.get(name) ?? new Map()
      sections.set(name, section)
      continue
    }
    const [, key = '', value = ''] = /^\s*([^#;\s=]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (key !== '') section?.set(key.toLowerCase(), value)
  }
  return sections
}

function missing(why: string, cause?: unknown): Fault {
  const advice =
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write the file, or name a provider with credentials=fromNodeProviderChain.'
  return new Fault('malformed', `The object storage has no credentials. ${why} ${advice}`, {
    code: 'CREDENTIALS_MISSING',
    ...(cause !== undefined && { cause }),
  })
}
