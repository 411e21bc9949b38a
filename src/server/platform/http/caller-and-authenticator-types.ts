import type { IncomingHttpHeaders } from 'node:http';
import type { Policy } from '../../../contract/endpoint.ts';
import type { Role } from '../../../contract/roles.ts';
import type { KeyLimits } from '../limits/api-key-limiter.ts';

/** A person, by a management credential. Device access tokens carry the authorization they came from. */
export type AccountCaller =
  | {
      readonly kind: 'session';
      readonly userId: number;
      readonly role: Role;
      readonly sessionId: number;
      /** The session's end has just been moved: the cookie's should move with it. */
      readonly renewed?: boolean;
    }
  | { readonly kind: 'user-token'; readonly userId: number; readonly role: Role; readonly tokenHash: string }
  | { readonly kind: 'device'; readonly userId: number; readonly role: Role; readonly authorizationId: number };

/** A program, by an `sk-` token or the llm_token of a device sign-in: both are rows of `tokens`. */
export interface ModelCaller {
  readonly kind: 'model';
  readonly userId: number;
  readonly tokenId: number;
  /** Models this token names; empty = all. */
  readonly models: readonly string[];
  /** Undefined where it has none. */
  readonly limits?: KeyLimits | undefined;
}

export type Caller = AccountCaller | ModelCaller;

/** The type of caller that a handler gets, by the policy of its endpoint. */
export type CallerOf<P extends Policy> = P extends 'public' | 'self'
  ? undefined
  : P extends 'model'
    ? ModelCaller
    : AccountCaller;

/** What of a request proves who sent it. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Value of the cookie `session`. */
  readonly session: string | undefined;
  readonly clientIp: string;
}

/**
 * Turns credentials into a caller allowed by the policy, or throws `unauthorized`, `invalid_api_key`, `forbidden` or
 * `account_disabled`. Given to the HTTP layer by app.ts; implemented by accounts.
 */
export interface Authenticator {
  account(policy: 'account' | 'owner' | 'admin' | 'root', credentials: Credentials): Promise<AccountCaller>;
  model(credentials: Credentials): Promise<ModelCaller>;
}
