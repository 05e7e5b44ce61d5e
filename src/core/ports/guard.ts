/** Who is calling, and whether the call may go on. */
import type { Caller } from '../caller.ts'
import type { Fault } from '../fault.ts'
import type { JsonValue } from '../json.ts'
import type { Operation } from '../operation.ts'
import type { AuthorizationNeed } from '../requirements.ts'

/** Decides whether a call may go on: it says so, objects by throwing a fault, or has no opinion. */
export interface Guard {
  /** Before the arguments are looked at. */
  admit?(caller: Caller, operation: Operation): void | Promise<void>
  /** Whether `decide` can ever have something to say of this operation; asked once. Absent: of every one. */
  concerns?(operation: Operation): boolean
  /** With the arguments, once they are valid; asked for each form of them, as sent and as the handler gets them. */
  decide?(caller: Caller, operation: Operation, args: JsonValue): Decision | void | Promise<Decision> | Promise<void>
}

/** Of several decisions the strictest counts. */
export interface Decision {
  verdict: 'allow' | 'hold' | 'deny'
  /** What decided: `policy.yaml#no-deletes`. */
  rule?: string
  /** For the caller. */
  reason?: string
  /** A denial that may be tried again as it is, because the policy says so. */
  retryable?: boolean
  /** A denial that is not for want of permission says so itself. */
  fault?: Fault
  /** How long an approval is waited for. */
  approvalTtlMs?: number
  /** Whether the caller may approve it too. */
  selfApproval?: boolean
}

/** What a request shows of its sender: header fields or metadata, and the `auth` block of an envelope that has one. */
export interface Presented {
  header(name: string): string | undefined
  readonly auth?: PresentedAuth | undefined
}

/** Unproved, and `credential` is a secret. */
export interface PresentedAuth {
  iss: string
  sub: string
  credentialType: string
  credential?: string
}

/** Who is calling: the caller, nothing if no credential was given, or a fault if it is not a good one. */
export type Identify = () => Caller | undefined | Promise<Caller | undefined>

/** Tokens that people have let us have at other services: each belongs to a caller, or to one of the caller's users. */
export interface Authorizations {
  /** Fresh enough to be used now; nothing if the person has not authorized these scopes. */
  token(caller: Caller, id: string, scopes: readonly string[]): Promise<string | undefined>
  /** The provider has refused this token: it is renewed before the next use, or else the person is asked again. */
  refused(caller: Caller, id: string, token: string): Promise<void>
  /**
   * What the person has to open to authorize these, and where to ask whether it was done. `origin` is how the caller
   * reaches us. Ids this server has no provider for are left out: there is nothing to open for them.
   */
  challenge(
    caller: Caller,
    needs: readonly AuthorizationNeed[],
    origin: string,
  ): Promise<readonly AuthorizationChallenge[]>
}

export interface AuthorizationChallenge {
  id: string
  /** For the person, in a browser. */
  url: string
  /** Answers `{"status": "pending" | "completed" | "failed"}`. */
  checkUrl: string
}
