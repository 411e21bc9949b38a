import * as endpoints from '../../../contract/api-tokens.ts';
import { parseSort } from '../../../contract/list-sorting.ts';
import { createManagementToken } from '../../../contract/registration-login-and-own-account.ts';
import { done, list, ok, toPage } from '../../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import { toRequestOrigin } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { Accounts } from '../make.ts';
import { toSecondsOrNull } from '../presenter.ts';
import type { TokenListItem } from './token-service.ts';

/** The own `sk-` tokens and the management access token. */
export function addTokenRoutes(
  routes: RouteRegistry,
  { tokens, managementTokens }: Pick<Accounts, 'tokens' | 'managementTokens'>,
): void {
  routes.add(createManagementToken, async ({ caller, request }) =>
    ok({ access_token: await managementTokens.reissue(caller, toRequestOrigin(request)) }),
  );

  routes.add(endpoints.listTokens, async ({ caller, query }) => {
    const { rows, total } = await tokens.list(caller.userId, toPage(query), parseSort(query.sort));
    return list(rows.map(toTokenRow), total);
  });

  routes.add(endpoints.createToken, async ({ caller, body }) => ok(await tokens.create(caller.userId, body)));

  routes.add(endpoints.updateToken, async ({ caller, params, body }) => {
    await tokens.update(caller.userId, Number(params.id), body);
    return done();
  });

  routes.add(endpoints.revokeToken, async ({ caller, params }) => {
    await tokens.revoke(caller.userId, Number(params.id));
    return done();
  });
}

const toTokenRow = (token: TokenListItem) => ({
  id: token.id,
  name: token.name,
  key_hint: token.hint,
  expires_at: toSecondsOrNull(token.expiresAt),
  quota_limit: token.quotaLimit,
  quota_used: token.quotaUsed,
  models: [...token.models],
  allowed_addresses: [...token.allowedAddresses],
  requests_per_minute: token.requestsPerMinute,
  tokens_per_minute: token.tokensPerMinute,
  concurrent_calls: token.concurrentCalls,
  concurrent_tasks: token.concurrentTasks,
  created_time: toSeconds(token.createdAt),
  last_used_time: toSecondsOrNull(token.lastUsedAt),
});
