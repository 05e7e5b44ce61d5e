/** The settings of an `http` backend. */
import type { BackendSpec } from '../../core/operation/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { parseRemoteSettings, type RemoteSettings } from '../remote/settings.ts'
import { parseTemplate, type RequestTemplate } from './request/template.ts'

export interface HttpSettings extends RemoteSettings {
  /** Where the arguments go. Without it, they are the body of a POST. */
  readonly request?: RequestTemplate
}

export function parseHttpSettings(spec: BackendSpec): HttpSettings {
  const common = parseRemoteSettings(spec, DEFAULT_MAX_BYTES, ['request'])
  return spec.request === undefined ? common : { ...common, request: parseTemplate(spec.request) }
}
