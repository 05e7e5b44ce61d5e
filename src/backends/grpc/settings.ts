/** The settings of a `grpc` backend. */
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { isBoolean, isText, optional, parseRemoteSettings, type RemoteSettings } from '../remote/settings.ts'

export interface GrpcSettings extends RemoteSettings {
  /** True to connect without TLS. */
  readonly plaintext: boolean
  /** A PEM file with the certificates to trust. Default: the system's certificates. */
  readonly ca?: string
  /** The tool's name on the remote server. Default: the operation's name. */
  readonly tool?: string
}

export function parseGrpcSettings(spec: BackendSpec): GrpcSettings {
  const remote = parseRemoteSettings(spec, DEFAULT_MAX_BYTES, ['plaintext', 'ca', 'tool'])
  const plaintext = optional(spec, 'plaintext', isBoolean, 'true or false') ?? false
  const tool = optional(spec, 'tool', isText, 'the name of the tool, such as web_search')
  const ca = optional(spec, 'ca', isText, 'the path of a PEM file')
  checkEndpoint(remote.endpoint, plaintext)
  const reserved = Object.keys(remote.headers).find((name) => /^(?:grpc-|te$|content-type$)/.test(name))
  if (reserved !== undefined) {
    throw new Fault('policy-invalid', `backend.headers.${reserved} is gRPC's own; leave it out.`)
  }
  return { ...remote, plaintext, ...(ca !== undefined && { ca }), ...(tool !== undefined && { tool }) }
}

/** Plain text needs an explicit setting, so that a typing error in the URL cannot disable TLS. */
function checkEndpoint(endpoint: string, plaintext: boolean): void {
  const { protocol, pathname, search } = new URL(endpoint)
  if (pathname !== '/' || search !== '') {
    throw new Fault(
      'policy-invalid',
      'backend.endpoint of a grpc backend must not have a path; write https://tools.example:8443.',
    )
  }
  if (protocol === 'http:' && !plaintext) {
    throw new Fault(
      'policy-invalid',
      'backend.endpoint is http: without TLS. Write https:, or set backend.plaintext: true.',
    )
  }
  if (protocol === 'https:' && plaintext) {
    throw new Fault('policy-invalid', 'backend.plaintext is true, but backend.endpoint is https:. Write http:.')
  }
}
