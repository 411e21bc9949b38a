import type { Static } from 'typebox';
import type { Session } from '../../contract/accounts.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Profile, Trace } from './people.ts';
import type { Sessions, Visitor } from './sessions.ts';
import type { Account } from './store.ts';

export const visitorOf = ({ address, headers }: RequestContext): Visitor => ({
  address,
  userAgent: headers['user-agent'] ?? '',
});

export const traceOf = ({ address, id }: RequestContext): Trace & { readonly address: string } => ({
  address,
  requestId: id,
});

export const toLoggedIn = ({ id, username, display_name, role }: Account) => ({ id, username, display_name, role });

export const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000);
export const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

type ListedSession = Awaited<ReturnType<Sessions['list']>>['rows'][number];

export const toSessionRow = (row: ListedSession, caller: AccountCaller): Static<typeof Session> => ({
  id: row.id,
  current: caller.kind === 'session' && caller.sessionId === row.id,
  address: row.address,
  user_agent: row.user_agent,
  created_time: toSeconds(row.created_at),
  last_used_time: toSeconds(row.last_used_at),
  expires_at: toSeconds(row.expires_at),
});

/** An account in an answer, to its owner and to administrators alike. */
export const toUserRow = ({ account, wallet, plan, hasTwoFactor, phoneBound, messagingBound }: Profile) => ({
  id: account.id,
  username: account.username,
  display_name: account.display_name,
  email: account.email ?? '',
  role: account.role,
  status: account.status,
  quota: wallet.balance,
  used_quota: wallet.used,
  request_count: wallet.requests,
  current_package_code: plan.code,
  package_expires_at: plan.expiresAt,
  has_2fa: hasTwoFactor,
  phone_bound: phoneBound,
  messaging_bound: messagingBound,
  created_time: toSeconds(account.created_at),
});
