/** The settings of a `webhook` backend. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { isPositive, isText, optional, parseRemoteSettings, type RemoteSettings } from '../remote/settings.ts'

export interface WebhookSettings extends RemoteSettings {
  /** The tool's name on the remote server. Default: the operation's name. */
  readonly tool?: string
  /** The delay before the first poll and between polls. */
  readonly pollMs: number
  /** If set, the delay grows from `pollMs` to this. */
  readonly maxPollMs: number
  /** If set, the tool may send a callback, signed with this secret. */
  readonly callback?: { readonly secretRef: string }
}

/** docs/readings.md#a15. */
const DEFAULT_POLL_MS = 2_000

export function parseWebhookSettings(spec: BackendSpec): WebhookSettings {
  const remote = parseRemoteSettings(spec, DEFAULT_MAX_BYTES, ['tool', 'pollMs', 'maxPollMs', 'callback'])
  const tool = optional(spec, 'tool', isText, 'the name of the tool, such as render_video')
  const pollMs = optional(spec, 'pollMs', isPositive, 'a number of milliseconds, such as 2000') ?? DEFAULT_POLL_MS
  const maxPollMs = optional(spec, 'maxPollMs', isPositive, 'a number of milliseconds, such as 30000') ?? pollMs
  if (maxPollMs < pollMs) {
    throw new Fault('policy-invalid', `backend.maxPollMs must not be less than backend.pollMs, which is ${pollMs}.`)
  }
  const callback = optional(
    spec,
    'callback',
    isCallback,
    'the secret that the tool signs with: { secretRef: its-name }',
  )
  return { ...remote, pollMs, maxPollMs, ...(tool !== undefined && { tool }), ...(callback && { callback }) }
}

function isCallback(value: unknown): value is { secretRef: string } {
  return isJsonObject(value) && isText(value.secretRef) && Object.keys(value).length === 1
}
