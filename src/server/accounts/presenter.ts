import type { Static } from 'typebox';
import { toSpendLimitState } from '../../contract/account-fields.ts';
import type { Session } from '../../contract/accounts.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { AccountCaller } from '../platform/http/route-registry.ts';
import type { Account } from './account-store.ts';
import type { Profile } from './registration.ts';
import type { SessionService } from './sessions.ts';

type SessionListItem = Awaited<ReturnType<SessionService['list']>>['rows'][number];

/** An account in the response to a login. */
export const toLoginResponse = ({ id, username, display_name, role }: Account) => ({
  id,
  username,
  display_name,
  role,
});

/** Unix seconds of a time in Unix milliseconds. */
export const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

/** A session in a response, marked if it is the caller's own. */
export const toSessionRow = (row: SessionListItem, caller: AccountCaller): Static<typeof Session> => ({
  id: row.id,
  current: caller.kind === 'session' && caller.sessionId === row.id,
  address: row.address,
  user_agent: row.user_agent,
  created_time: toSeconds(row.created_at),
  last_used_time: toSeconds(row.last_used_at),
  expires_at: toSeconds(row.expires_at),
});

/** An account in a response to its owner. */
export const toUserRow = ({ account, wallet, plan, spendLimit, ...profile }: Profile) => ({
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
  has_2fa: profile.hasTwoFactor,
  phone_bound: profile.phoneBound,
  messaging_bound: profile.messagingBound,
  spend_limit: toSpendLimitState(spendLimit),
  created_time: toSeconds(account.created_at),
});

/** An account in a response to administrators. */
export const toAdminUserRow = (profile: Profile) => ({
  ...toUserRow(profile),
  concurrent_tasks: profile.account.concurrent_tasks,
  queued_tasks: profile.account.queued_tasks,
});
