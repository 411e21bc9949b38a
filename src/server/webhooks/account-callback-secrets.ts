import type { AuditLog } from '../accounts/audit-log.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/request-context.ts';
import type { Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import { callbackSecretCell, type EndpointStore, type SecretColumns } from './endpoint-store.ts';
import { newWebhookSecret, rotate } from './signing-secrets.ts';

export interface CallbackSecretsDependencies {
  readonly database: Database<Tables>;
  readonly endpoints: EndpointStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/** The secret of an account that signs deliveries to the callback_url of single requests; made when it is first needed. */
export class AccountCallbackSecrets {
  readonly #dependencies: CallbackSecretsDependencies;
  constructor(dependencies: CallbackSecretsDependencies) {
    this.#dependencies = dependencies;
  }

  /** In clear. */
  async get(userId: number): Promise<string> {
    return this.#dependencies.vault.open((await this.ensure(userId)).secret, callbackSecretCell(userId));
  }

  /** The stored columns; a secret is made where there is none. */
  async ensure(userId: number): Promise<SecretColumns> {
    const { endpoints, vault } = this.#dependencies;
    const known = await endpoints.findCallbackSecret(userId);
    if (known !== undefined) return known;
    await endpoints.insertCallbackSecret(userId, vault.seal(newWebhookSecret(), callbackSecretCell(userId)));
    const made = await endpoints.findCallbackSecret(userId);
    if (made === undefined) throw new Error('the secret for callbacks was not stored');
    return made;
  }

  /** @returns the new one in clear; the old one signs beside it for a day */
  async rotate(actor: Actor): Promise<string> {
    const { database, endpoints, vault, clock, auditLog } = this.#dependencies;
    const { actorId } = actor;
    await this.ensure(actorId);
    const secret = newWebhookSecret();
    await database.transaction(async (trx) => {
      const old = await endpoints.findCallbackSecret(actorId, trx);
      if (old === undefined) throw new Error('the secret for callbacks is gone');
      const columns = rotate(vault, callbackSecretCell(actorId), old, secret, clock.now());
      await endpoints.replaceCallbackSecret(trx, actorId, columns);
      await auditLog.record(trx, { ...actor, action: 'webhook.rotate-secret', target: `user:${actorId}` });
    });
    return secret;
  }
}
