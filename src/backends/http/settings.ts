/** The settings of an `http` backend. */
import type { BackendSpec } from '../../core/operation/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { parseRemoteSettings, type RemoteSettings } from '../remote/settings.ts'

export type HttpSettings = RemoteSettings

export function parseHttpSettings(spec: BackendSpec): HttpSettings {
  return parseRemoteSettings(spec, DEFAULT_MAX_BYTES)
}
