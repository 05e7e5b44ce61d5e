/** The ports for authentication and authorization of calls. */
import type { Caller } from '../call/caller.ts'
import type { Fault } from '../fault.ts'
import type { JsonValue } from '../json.ts'
import type { Operation } from '../operation/operation.ts'
import type { AuthorizationNeed } from '../operation/requirements.ts'

/** Decides whether a call may proceed. A guard allows the call, throws a fault, or has no opinion. */
export interface Guard {
  /** Runs before the arguments are read. `name` is the operation as the caller named it, if a caller did. */
  admit?(caller: Caller, operation: Operation, name?: string): void | Promise<void>
  /**
   * False if `decide` never has an opinion about this operation. Called once per operation. Absent: it may have one.
   */
  concerns?(operation: Operation): boolean
  /** Runs with valid arguments, once for each form of them: as sent, and as the handler gets them. */
  decide?(caller: Caller, operation: Operation, args: JsonValue): Decision | void | Promise<Decision> | Promise<void>
}

/** If there are several decisions, the strictest applies. */
export interface Decision {
  verdict: 'allow' | 'hold' | 'deny'
  /** The rule that decided: `policy.yaml#no-deletes`. */
  rule?: string
  /** Shown to the caller. */
  reason?: string
  /** The policy lets the caller retry this denied call unchanged. */
  retryable?: boolean
  /** The fault of a denial that has another cause than missing permission. */
  fault?: Fault
  /** How long the call waits for an approval. */
  approvalTtlMs?: number
  /** True if the caller may approve the call too. */
  selfApproval?: boolean
}

/** The credentials in a request: header fields or metadata, and the `auth` block if the envelope has one. */
export interface Presented {
  header(name: string): string | undefined
  readonly auth?: PresentedAuth | undefined
}

/** Not verified yet. `credential` is a secret. */
export interface PresentedAuth {
  iss: string
  sub: string
  credentialType: string
  credential?: string
}

/**
 * Identifies the caller. `undefined` if the request has no credential. Throws a fault if the credential is not valid.
 */
export type Identify = () => Caller | undefined | Promise<Caller | undefined>

/**
 * Tokens for other services, which people have authorized. Each belongs to a caller, or to one of the caller's users.
 */
export interface Authorizations {
  /** A token that is valid now. `undefined` if the person has not authorized these scopes. */
  token(caller: Caller, id: string, scopes: readonly string[]): Promise<string | undefined>
  /** True if the person has authorized these scopes, as far as is stored here. It asks no provider. */
  holds(caller: Caller, id: string, scopes: readonly string[]): Promise<boolean>
  /**
   * The provider has refused this token. It is renewed before the next use; if that fails, the person must authorize
   * again.
   */
  refused(caller: Caller, id: string, token: string): Promise<void>
  /**
   * The URLs at which the person authorizes these needs and the client checks the status. `origin` is the server's
   * address as the caller reached it. Ids without a configured provider are left out.
   */
  challenge(
    caller: Caller,
    needs: readonly AuthorizationNeed[],
    origin: string,
  ): Promise<readonly AuthorizationChallenge[]>
}

export interface AuthorizationChallenge {
  id: string
  /** The person opens it in a browser. */
  url: string
  /** Responds with `{"status": "pending" | "completed" | "failed"}`. */
  checkUrl: string
}
