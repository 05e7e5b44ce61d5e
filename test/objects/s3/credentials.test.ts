import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Log } from '../../../src/core/ports/runtime.ts'
import { createRenewal } from '../../../src/objects/s3/credentials/renewal.ts'
import { chooseProvider, type S3CredentialProvider } from '../../../src/objects/s3/credentials/source.ts'
import { createManualClock } from '../../../src/testing/fakes/clock.ts'

const KEY = { accessKeyId: 'key', secretAccessKey: 'secret-of-the-key' }

test('the option wins over the environment, and the environment over the file', async () => {
  const env = { AWS_ACCESS_KEY_ID: 'env', AWS_SECRET_ACCESS_KEY: 'of env', AWS_SESSION_TOKEN: 'token' }
  const file = await credentialsFile('[default]\naws_access_key_id=file\naws_secret_access_key=of file\n')

  const given = await chooseProvider({ given: KEY }, env)
  const fromEnvironment = await chooseProvider({}, { ...env, ...file })
  const fromFile = await chooseProvider({}, file)
  const fromProfile = await chooseProvider({ profile: 'default' }, { ...env, ...file })

  expect(await given()).toEqual(KEY)
  expect(await fromEnvironment()).toEqual({ accessKeyId: 'env', secretAccessKey: 'of env', sessionToken: 'token' })
  expect(await fromFile()).toEqual({ accessKeyId: 'file', secretAccessKey: 'of file' })
  expect(await fromProfile()).toMatchObject({ accessKeyId: 'file' })
})

test('a profile is found among comments, other profiles and spaces, and read again when it changes', async () => {
  const env = await credentialsFile(
    '# mine\n[ default ]\naws_access_key_id = a\r\n[ci]\n; theirs\n AWS_ACCESS_KEY_ID = b \naws_secret_access_key = c=d\naws_session_token=e\n',
  )
  const provider = await chooseProvider({}, { ...env, AWS_PROFILE: 'ci' })

  expect(await provider()).toEqual({ accessKeyId: 'b', secretAccessKey: 'c=d', sessionToken: 'e' })
  await writeFile(env.AWS_SHARED_CREDENTIALS_FILE, '[ci]\naws_access_key_id=new\naws_secret_access_key=x\n')
  expect(await provider()).toEqual({ accessKeyId: 'new', secretAccessKey: 'x' })
})

test.for([
  [{ AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials' }, 'cannot be read (ENOENT)'],
  ['[other]\naws_access_key_id=a\n', 'no profile "default"'],
  ['[default]\nrole_arn=x\n', 'fromIni'],
] as const)('missing credentials are named with the next step: %s', async ([given, advice]) => {
  const env = typeof given === 'string' ? await credentialsFile(given) : given
  const provider = await chooseProvider({}, env)

  await expect(provider()).rejects.toMatchObject({ code: 'CREDENTIALS_MISSING' })
  await expect(provider()).rejects.toThrow(advice)
  await expect(provider()).rejects.toThrow('AWS_ACCESS_KEY_ID')
})

test('a provider of the AWS SDK is loaded by its name: the role of a container', async () => {
  const asked: string[] = []
  const host = createServer(({ url = '' }, response) => {
    asked.push(url)
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        AccessKeyId: 'role',
        SecretAccessKey: 'of role',
        Token: 't',
        Expiration: '2030-01-01T00:00:00Z',
      }),
    )
  }).listen(0, '127.0.0.1')
  await vi.waitUntil(() => host.listening)
  onTestFinished(() => void host.close())
  const { port } = host.address() as AddressInfo
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `http://127.0.0.1:${port}/role`)
  onTestFinished(() => void vi.unstubAllEnvs())

  const provider = await chooseProvider({ provider: 'fromContainerMetadata' }, {})

  expect(await provider()).toMatchObject({
    accessKeyId: 'role',
    secretAccessKey: 'of role',
    sessionToken: 't',
    expiration: new Date('2030-01-01T00:00:00Z'),
  })
  expect(asked).toEqual(['/role'])
})

test('a provider that the AWS SDK does not have is refused with those that it has', async () => {
  await expect(chooseProvider({ provider: 'fromNowhere' }, {})).rejects.toThrow('fromTokenFile')
})

test('credentials are renewed before they expire, once for all who need them', async () => {
  const clock = createManualClock()
  const provider = expiring(clock, 3_600_000)
  const renewal = open(provider, clock)

  const first = await Promise.all([renewal.get(), renewal.get(), renewal.get()])
  clock.advance(3_600_000 - 299_000)
  const old = await Promise.all([renewal.get(), renewal.get()])
  await vi.waitUntil(() => provider.mock.settledResults.length === 2)
  const renewed = await renewal.get()

  expect(first.map(({ accessKeyId }) => accessKeyId)).toEqual(['1', '1', '1'])
  expect(old.map(({ accessKeyId }) => accessKeyId)).toEqual(['1', '1'])
  expect(renewed.accessKeyId).toBe('2')
  clock.advance(3_600_000)
  expect((await Promise.all([renewal.get(), renewal.get()])).map(({ accessKeyId }) => accessKeyId)).toEqual(['3', '3'])
})

test('while a renewal fails, the old credentials serve as long as they are valid', async () => {
  const clock = createManualClock()
  const provider = expiring(clock, 600_000)
  const warnings: string[] = []
  const renewal = open(provider, clock, { warn: (_fields: object, message: string) => void warnings.push(message) })
  await renewal.get()
  provider.mockRejectedValue(new Error('the role is gone'))

  clock.advance(400_000)
  await Promise.all([renewal.get(), renewal.get()])
  await vi.waitUntil(() => warnings.length > 0)
  expect((await renewal.get()).accessKeyId).toBe('1')
  expect(provider).toHaveBeenCalledTimes(2)
  clock.advance(190_000)
  await expect(renewal.get()).rejects.toThrow('the role is gone')
})

test('credentials that S3 refuses are asked for again, once', async () => {
  const clock = createManualClock()
  const provider = expiring(clock, 3_600_000)
  const renewal = open(provider, clock)
  const first = await renewal.get()

  renewal.outdated(first)
  const [second] = await Promise.all([renewal.get(), renewal.get()])
  renewal.outdated(first)

  expect(second?.accessKeyId).toBe('2')
  expect((await renewal.get()).accessKeyId).toBe('2')
})

test('secrets are concealed before they are used, and values that no header can have are refused without showing them', async () => {
  const concealed = new Set<string>()
  const conceal = (value: string) => {
    concealed.add(value)
    return () => void concealed.delete(value)
  }
  let current: Awaited<ReturnType<S3CredentialProvider>> = { ...KEY, sessionToken: 'first token' }
  const renewal = createRenewal({ provider: async () => current, clock: createManualClock(), log: silent, conceal })

  await expect(renewal.get()).rejects.not.toThrow(/first token|secret-of/)
  current = { ...KEY, sessionToken: 'token-1' }
  const got = await renewal.get()
  expect(concealed).toEqual(new Set([KEY.secretAccessKey, 'token-1']))
  current = { ...KEY, sessionToken: 'token-2' }
  renewal.outdated(got)
  await renewal.get()
  expect(concealed.has('token-2')).toBe(true)
  expect(concealed.has('token-1')).toBe(false)
})

const silent = { warn: () => {} }

function expiring(clock: { now(): number }, forMs: number) {
  let number = 0
  return vi.fn<S3CredentialProvider>(async () => {
    number += 1
    return { ...KEY, accessKeyId: String(number), expiration: new Date(clock.now() + forMs) }
  })
}

function open(provider: S3CredentialProvider, clock: { now(): number }, log: Pick<Log, 'warn'> = silent) {
  return createRenewal({ provider, clock, log, conceal: () => () => {} })
}

async function credentialsFile(content: string): Promise<{ AWS_SHARED_CREDENTIALS_FILE: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-credentials-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'credentials')
  await writeFile(file, content)
  return { AWS_SHARED_CREDENTIALS_FILE: file }
}
