/** What the declaration of a `webhook` backend may say. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { BackendSpec } from '../../core/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { isPositive, isText, optional, parseRemoteSettings, type RemoteSettings } from '../remote/settings.ts'

export interface WebhookSettings extends RemoteSettings {
  /** What the other side calls the tool, if not by our name. */
  readonly tool?: string
  /** How long until the tool is asked for the first time, and between two questions. */
  readonly pollMs: number
  /** Where given, the pace slows down from `pollMs` to this. */
  readonly maxPollMs: number
  /** The tool may call back; it signs with this secret. */
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
  const callback = optional(spec, 'callback', isCallback, 'the secret the tool signs with: { secretRef: its-name }')
  return { ...remote, pollMs, maxPollMs, ...(tool !== undefined && { tool }), ...(callback && { callback }) }
}

function isCallback(value: unknown): value is { secretRef: string } {
  return isJsonObject(value) && isText(value.secretRef) && Object.keys(value).length === 1
}
