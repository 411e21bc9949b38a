import { randomInt } from 'node:crypto';
import { AppError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { RequestOrigin } from '../../platform/http/request-context.ts';
import { normalizeName, normalizeTypedCode } from '../../platform/text.ts';
import { isSameSecret } from '../../platform/tokens.ts';
import type { SealContext, Vault } from '../../platform/vault.ts';
import type { Tables } from '../../tables.ts';
import type { AuditLog } from '../audit/audit-log-types.ts';
import type { AccountRateLimits } from '../rate-limits.ts';
import type { BindingKind, BindingStore } from './binding-store.ts';
import type { MessagingAccountLookup, PhoneCodeSender } from './phone-senders-and-messaging-account-lookup.ts';

const CODE_MS = 10 * 60_000;
const MAX_WRONG_CODES = 5;

export interface BindingServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: BindingStore;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly rateLimits: AccountRateLimits;
  readonly auditLog: AuditLog;
  readonly phoneSender: PhoneCodeSender;
  readonly messaging: MessagingAccountLookup;
}

/** A phone and a messaging-app account, each bound to one account at a time. */
export class PhoneAndMessagingBindingService {
  readonly #dependencies: BindingServiceDependencies;

  constructor(dependencies: BindingServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Sends six digits that bind this phone to this account. @throws rate_limit_exceeded, phone_unavailable */
  async sendPhoneCode(userId: number, phone: string): Promise<void> {
    const { store, clock, vault, rateLimits, phoneSender } = this.#dependencies;
    await rateLimits.phoneMessagesByAccount.consume(userId);
    await rateLimits.phoneMessagesByPhone.consume(phone);
    await rateLimits.phoneMessagesTotal.consume('all');
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    // Encrypted, because a hash of six digits is easily brute-forced.
    const sealed = vault.seal(code, toCodeCell(userId));
    await store.putPhoneCode({ user_id: userId, phone, code: sealed, expires_at: clock.now() + CODE_MS });
    await phoneSender.send(phone, code);
  }

  /** @throws wrong_code, binding_taken */
  async bindPhone(userId: number, phone: string, code: string, origin: RequestOrigin): Promise<void> {
    const { store, clock, vault } = this.#dependencies;
    const attempt = await store.countPhoneAttempt(userId, phone, MAX_WRONG_CODES, clock.now());
    if (attempt === undefined || !isSameSecret(vault.open(attempt.code, toCodeCell(userId)), normalizeTypedCode(code)))
      throw new AppError('wrong_code');
    await this.#bind(userId, 'phone', phone, origin, attempt.code);
  }

  /** @throws wrong_code, binding_taken, messaging_unavailable, rate_limit_exceeded */
  async bindMessaging(userId: number, code: string, origin: RequestOrigin): Promise<void> {
    const { rateLimits, messaging } = this.#dependencies;
    await rateLimits.messagingByAccount.consume(userId);
    const messagingId = await messaging.verify(normalizeName(code));
    if (messagingId === undefined) throw new AppError('wrong_code');
    await this.#bind(userId, 'messaging', messagingId, origin);
  }

  /** @param usedCode the sealed phone code that this binding uses up */
  async #bind(userId: number, kind: BindingKind, value: string, origin: RequestOrigin, usedCode?: string) {
    const { database, store, clock, auditLog } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (usedCode !== undefined && !(await store.consumePhoneCode(trx, userId, usedCode)))
        throw new AppError('wrong_code');
      if (!(await store.put(trx, userId, kind, value, clock.now()))) throw new AppError('binding_taken');
      await auditLog.record(trx, {
        actorId: userId,
        action: `self.bind-${kind}`,
        target: `user:${userId}`,
        ...origin,
      });
    });
  }
}

const toCodeCell = (userId: number): SealContext => ({ table: 'phone_codes', row: userId, column: 'code' });
