/** The settings of an `external` backend. */
import type { BackendSpec } from '../../core/operation/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { isText, optional, parseRemoteSettings, type RemoteSettings } from '../remote/settings.ts'

export interface ExternalSettings extends RemoteSettings {
  /** The tool's name on the remote server. Default: the operation's name. */
  readonly tool?: string
}

export function parseExternalSettings(spec: BackendSpec): ExternalSettings {
  const remote = parseRemoteSettings(spec, DEFAULT_MAX_BYTES, ['tool'])
  const tool = optional(spec, 'tool', isText, 'the name of the tool, such as web_search')
  return { ...remote, ...(tool !== undefined && { tool }) }
}
