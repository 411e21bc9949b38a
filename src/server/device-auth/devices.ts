import { NAME_LENGTH_MAX } from '../../contract/device-auth.ts';
import type { Page } from '../../contract/responses.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { notExistError } from '../platform/app-error.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor, RequestOrigin } from '../platform/http/route-registry.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AuthorizationFilter, AuthorizationStore, RevokedAuthorization } from './authorization-store.ts';
import { type DeviceRevocation, toRevocationEntry } from './authorization-store.ts';
import type { ClientService } from './clients.ts';
import type { DeviceCodeStore } from './code-store.ts';
import { endedNotice, toSingleLine } from './codes.ts';

interface DevicesDependencies {
  readonly database: Database<Tables>;
  readonly authorizations: AuthorizationStore;
  readonly codes: DeviceCodeStore;
  readonly clients: Pick<ClientService, 'findName' | 'remove'>;
  readonly notifier: Notifier;
  readonly access: Pick<AccountAccess, 'assertCanManage'>;
  readonly auditLog: AuditLog;
  readonly revocation: DeviceRevocation;
  readonly ledger: Pick<Ledger, 'spendLimits'>;
}

/** Lets owners manage the devices their account is signed in on. */
export class DevicesService {
  readonly #dependencies: DevicesDependencies;

  constructor(dependencies: DevicesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Newest first, with the spend limits of grants. */
  async list(userId: number, page: Page) {
    const { authorizations, ledger } = this.#dependencies;
    const { rows, total } = await authorizations.list(userId, page);
    const toSubject = ({ llm_token_id: id }: { readonly llm_token_id: number }) => ({ kind: 'token', id }) as const;
    const limits = await ledger.spendLimits(rows.filter(({ scopes }) => scopes !== null).map(toSubject));
    return { rows: rows.map((row) => ({ ...row, spendLimit: limits.get(`token:${row.llm_token_id}`) })), total };
  }

  /** The sign-ins of one client with their accounts, last used first. */
  listOfClient(clientId: string, page: Page): ReturnType<AuthorizationStore['listOfClient']> {
    return this.#dependencies.authorizations.listOfClient(clientId, page);
  }

  async countByKind(): Promise<readonly { readonly kind: string; readonly count: number }[]> {
    const rows = await this.#dependencies.authorizations.countByAudience();
    return rows.map(({ audience, total }) => ({ kind: audience ?? 'device', count: Number(total) }));
  }

  /**
   * Sets the owner's name for a device, shown instead of the client's; an empty name restores the client's. Allowed
   * from the approval on, whether or not the device has collected its tokens.
   *
   * @throws not_exist
   */
  async rename(userId: number, id: number, typed: string, origin: RequestOrigin): Promise<void> {
    const { database, authorizations, codes, auditLog } = this.#dependencies;
    const name = toSingleLine(typed, NAME_LENGTH_MAX);
    await database.transaction(async (trx) => {
      // Renames the code first, in the same order as the exchange of a code, so that a name set during the exchange
      // reaches one of the two.
      const isApproved = await codes.renameApprovedDevice(trx, id, userId, name);
      const isSignedIn = await authorizations.rename(trx, id, userId, name);
      if (!isApproved && !isSignedIn) throw notExistError('device');
      const entry = { actorId: userId, target: `device:${id}`, after: { name } };
      await auditLog.record(trx, { ...entry, action: 'device.rename', ...origin });
    });
  }

  /** @throws not_exist */
  revoke(userId: number, id: number, origin: RequestOrigin): Promise<void> {
    return this.#revoke({ id, user_id: userId }, { ...origin, actorId: userId });
  }

  /**
   * Ends one sign-in of a client, of an account that the actor may manage, and notifies its owner. @throws not_exist,
   * rank_too_low
   */
  revokeOfClient(actor: Actor, id: number, clientId: string): Promise<void> {
    return this.#revoke({ id, client_id: clientId }, actor);
  }

  /** Removes a client with its codes and sign-ins, and notifies their owners. @throws not_exist */
  async removeClient(actor: Actor, clientId: string): Promise<void> {
    const { clients, codes, revocation } = this.#dependencies;
    await clients.remove(actor, clientId, async (trx, name) => {
      await codes.deleteOfClient(trx, clientId);
      await this.#report(trx, await revocation.revoke(trx, { client_id: clientId }), actor, name);
    });
  }

  async #revoke(filter: AuthorizationFilter, actor: Actor): Promise<void> {
    const { database, access, revocation } = this.#dependencies;
    await database.transaction(async (trx) => {
      const [revoked] = await revocation.revoke(trx, filter);
      if (revoked === undefined) throw notExistError('device');
      if (revoked.user_id !== actor.actorId) await access.assertCanManage(trx, actor.actorId, revoked.user_id);
      await this.#report(trx, [revoked], actor);
    });
  }

  /**
   * Audits ended sign-ins, and notifies each of their owners once, except the actor.
   *
   * @param removedClient name of the client, if it was removed with them
   */
  async #report(
    trx: Trx,
    ended: readonly RevokedAuthorization[],
    { actorId, ...origin }: Actor,
    removedClient?: string,
  ): Promise<void> {
    const { clients, auditLog, notifier } = this.#dependencies;
    await auditLog.recordAll(
      trx,
      ended.map((each) => toRevocationEntry(each, 'device.end', origin, actorId)),
    );
    for (const [userId, own] of Map.groupBy(ended, (each) => each.user_id)) {
      if (userId === actorId) continue;
      const registeredName = removedClient ?? (await clients.findName(trx, own[0]?.client_id ?? ''));
      const devices = own.map(({ id, client_name: clientName }) => ({ id, clientName, registeredName }));
      await notifier.notify(trx, endedNotice(userId, devices, removedClient));
    }
  }
}
