import type { AccountCaller } from './caller-and-authenticator-types.ts';
import type { RequestContext } from './handler-request-context.ts';

/** Where a request came from, as the audit log keeps it. */
export interface RequestOrigin {
  /** IP of the client. */
  readonly address: string;
  readonly requestId: string;
}

/** Who requested a change and from where. Spread it into an audit entry. */
export interface Actor extends RequestOrigin {
  /** Id of the account that acts. */
  readonly actorId: number;
}

export const toRequestOrigin = ({ clientIp, id }: RequestContext): RequestOrigin => ({
  address: clientIp,
  requestId: id,
});

export const toActor = (caller: AccountCaller, request: RequestContext): Actor => ({
  actorId: caller.userId,
  ...toRequestOrigin(request),
});
