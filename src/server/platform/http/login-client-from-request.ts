import type { RequestContext } from './handler-request-context.ts';

/** What a browser or program brings to a login beside the password. */
export interface LoginClient {
  /** IP. */
  readonly address: string;
  readonly userAgent: string;
  /** Value of the session cookie that came along. */
  readonly session?: string | undefined;
  /** Value of the cookie that marks a device on which a user has logged in. */
  readonly knownDevice?: string | undefined;
}

export const toLoginClient = (
  { clientIp, headers, session }: RequestContext,
  knownDevice: string | undefined,
): LoginClient => ({ address: clientIp, userAgent: headers['user-agent'] ?? '', session, knownDevice });
