import { defined } from '../../contract/objects.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { LinkedLogins } from '../accounts/login-revocation.ts';
import type { TokenStore } from '../accounts/tokens.ts';
import type { Clock } from '../platform/clock.ts';
import type { RequestOrigin } from '../platform/http/request-context.ts';
import type { Trx } from '../tables.ts';
import type { AuthorizationFilter, AuthorizationStore, RevokedAuthorization } from './authorization-store.ts';
import type { DeviceCodeStore } from './code-store.ts';

/** Called in the transaction that revokes devices, for any reason. */
export type OnDevicesRevoked = (trx: Trx, revoked: readonly RevokedAuthorization[]) => Promise<void>;

interface DeviceRevocationDependencies {
  readonly authorizations: AuthorizationStore;
  readonly codes: DeviceCodeStore;
  readonly tokens: Pick<TokenStore, 'revoke'>;
  readonly clock: Clock;
  readonly onRevoked: OnDevicesRevoked;
}

/**
 * Ends device sign-ins: deletes the access_token and refresh_token with their row and the record of the code, and
 * revokes the llm_token. Used refresh_tokens are kept, so that a later use gets the error "revoked".
 */
export class DeviceRevocation implements LinkedLogins {
  readonly #dependencies: DeviceRevocationDependencies;

  constructor(dependencies: DeviceRevocationDependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the devices this call revoked. */
  async revoke(trx: Trx, filter: AuthorizationFilter): Promise<readonly RevokedAuthorization[]> {
    const { authorizations, codes, tokens, clock, onRevoked } = this.#dependencies;
    const revoked = await authorizations.delete(trx, filter);
    if (revoked.length === 0) return revoked;
    for (const { user_id, llm_token_id } of revoked)
      await tokens.revoke(trx, user_id, llm_token_id, 'llm', clock.now());
    await codes.delete(
      trx,
      revoked.map(({ id }) => id),
    );
    await onRevoked(trx, revoked);
    return revoked;
  }

  /** Revokes all devices of an account, and its uncollected approvals. */
  async revokeAll(trx: Trx, userId: number): Promise<void> {
    await this.#dependencies.codes.deleteApprovedOfUser(trx, userId);
    await this.revoke(trx, { user_id: userId });
  }
}

/** Records a device's sign-out in the audit log. Without an actor, the client or the service ended it. */
export const auditRevocation = (
  auditLog: AuditLog,
  trx: Trx,
  revoked: RevokedAuthorization,
  action: string,
  origin: RequestOrigin,
  actorId?: number,
): Promise<void> =>
  auditLog.record(trx, {
    ...defined({ actorId }),
    action,
    target: `device:${revoked.id}`,
    before: { user: revoked.user_id, client: revoked.client_id, name: revoked.client_name },
    ...origin,
  });
