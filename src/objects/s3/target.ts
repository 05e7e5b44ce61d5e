/** Where the bucket is: read from `s3://bucket/prefix?region=…&endpoint=…`. */
import { Fault } from '../../core/fault.ts'

export interface S3Target {
  bucket: string
  /** Without slashes at the ends. Empty: the whole bucket. */
  prefix: string
  region: string
  endpoint: Endpoint
  /** Where callers fetch from, if it is not the endpoint. */
  publicEndpoint: Endpoint
  /** Which credentials to use: the profile of a file, or a provider of the AWS SDK. */
  profile?: string
  provider?: string
}

export interface Endpoint {
  secure: boolean
  /** Without the brackets of an IPv6 address. */
  hostname: string
  port: number
  /** As the `Host` header has it. */
  host: string
  /** `/bucket` or empty, percent-encoded. */
  basePath: string
}

const PARAMETERS = ['region', 'endpoint', 'public-endpoint', 'path-style', 'profile', 'credentials']
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/
const REGION = /^[a-z0-9][a-z0-9-]{0,62}$/i
const PREFIX = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[A-Za-z0-9!_.*'()-]+(?:\/[A-Za-z0-9!_.*'()-]+)*$/
const MAX_PREFIX = 300
const PROVIDER = /^from[A-Z]\w{0,60}$/

export function parseTarget(address: string, env: NodeJS.ProcessEnv): S3Target {
  const url = URL.parse(address)
  if (url?.protocol !== 's3:' || url.hash !== '') throw refused('must be s3://bucket/prefix?region=…')
  if (url.username !== '' || url.password !== '')
    throw refused('must not contain credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead')
  const given = parameters(url)
  const bucket = address.slice('s3://'.length).split(/[/?]/)[0] ?? ''
  if (!BUCKET.test(bucket)) throw refused(`has no valid bucket name: "${bucket}"`)
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '')
  if (prefix !== '' && (!PREFIX.test(prefix) || prefix.length > MAX_PREFIX))
    throw refused("may have a prefix of letters, digits, slashes and !_.*'()-, with at most 300 characters")
  const region = given.region || env.AWS_REGION || env.AWS_DEFAULT_REGION || (given.endpoint && 'us-east-1')
  if (!region) throw refused('needs the region of the bucket: region=eu-central-1, or AWS_REGION')
  if (!REGION.test(region)) throw refused(`has no valid region: "${region}"`)
  const { profile, credentials: provider } = given
  if (provider !== undefined && !PROVIDER.test(provider))
    throw refused('may name a provider of @aws-sdk/credential-providers: credentials=fromTokenFile')
  if (given['path-style'] !== undefined && !/^(?:true|false)$/.test(given['path-style']))
    throw refused('may have path-style=true or path-style=false')
  const pathStyle = given['path-style'] === undefined ? given.endpoint !== undefined : given['path-style'] === 'true'
  const endpointAt = (name: string, text: string) => parseEndpoint(name, text, bucket, pathStyle)
  const endpoint = endpointAt('endpoint', given.endpoint ?? awsEndpoint(region))
  const publicAt = given['public-endpoint']
  return {
    bucket,
    prefix,
    region,
    endpoint,
    publicEndpoint: publicAt === undefined ? endpoint : endpointAt('public-endpoint', publicAt),
    ...(profile !== undefined && { profile }),
    ...(provider !== undefined && { provider }),
  }
}

function parameters(url: URL): Partial<Record<string, string>> {
  const given: Partial<Record<string, string>> = {}
  for (const [name, value] of url.searchParams) {
    if (!PARAMETERS.includes(name)) throw refused(`has no parameter "${name}". Use ${PARAMETERS.join(', ')}`)
    if (given[name] !== undefined) throw refused(`has "${name}" twice`)
    given[name] = value
  }
  return given
}

function awsEndpoint(region: string): string {
  return `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
}

function parseEndpoint(name: string, text: string, bucket: string, pathStyle: boolean): Endpoint {
  const url = URL.parse(text)
  const web = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!web || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw refused(`has no valid ${name}. Use an address such as https://s3.example.com`)
  const secure = url.protocol === 'https:'
  const base = url.pathname.replace(/\/+$/, '')
  const host = pathStyle ? url.host : `${bucket}.${url.host}`
  return {
    secure,
    hostname: pathStyle ? url.hostname.replace(/^\[|\]$/g, '') : `${bucket}.${url.hostname}`,
    port: Number(url.port) || (secure ? 443 : 80),
    host,
    basePath: pathStyle ? `${base}/${bucket}` : base,
  }
}

function refused(what: string): Fault {
  return new Fault('malformed', `The address of the object storage ${what}.`, { code: 'INVALID_OPTION' })
}
