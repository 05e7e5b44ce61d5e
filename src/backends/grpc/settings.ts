/** What the declaration of a `grpc` backend may say. */
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { isBoolean, isText, optional, parseRemoteSettings, type RemoteSettings } from '../remote/settings.ts'

export interface GrpcSettings extends RemoteSettings {
  /** Without TLS. */
  readonly plaintext: boolean
  /** A file with the certificates to trust instead of the system's, in PEM. */
  readonly ca?: string
  /** What the other side calls the tool, if not by our name. */
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

/** Plain text is what somebody says, never what a typing error gives. */
function checkEndpoint(endpoint: string, plaintext: boolean): void {
  const { protocol, pathname, search } = new URL(endpoint)
  if (pathname !== '/' || search !== '') {
    throw new Fault(
      'policy-invalid',
      'backend.endpoint of a grpc backend has no path; write https://tools.example:8443.',
    )
  }
  if (protocol === 'http:' && !plaintext) {
    throw new Fault(
      'policy-invalid',
      'backend.endpoint is http: without TLS. Write https:, or say backend.plaintext: true.',
    )
  }
  if (protocol === 'https:' && plaintext) {
    throw new Fault('policy-invalid', 'backend.plaintext is true, but backend.endpoint is https:. Write http:.')
  }
}
