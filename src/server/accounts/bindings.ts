import { randomInt } from 'node:crypto';
import { isObject } from '../../contract/objects.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { RequestOrigin } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import type { BufferedResponse, OutboundClient } from '../platform/outbound/outbound.ts';
import { normalizeName, normalizeTypedCode } from '../platform/text.ts';
import { isSameSecret } from '../platform/tokens.ts';
import type { SealContext, Vault } from '../platform/vault.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AuditLog } from './audit-log.ts';
import type { AccountRateLimits } from './rate-limits.ts';

const CODE_MS = 10 * 60_000;
const MAX_WRONG_CODES = 5;

interface BindingServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: BindingStore;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly rateLimits: AccountRateLimits;
  readonly auditLog: AuditLog;
  readonly phoneSender: PhoneCodeSender;
  readonly messaging: MessagingAccountLookup;
}

/** Binds a phone or a messaging-app account to one account at a time. */
export class BindingService {
  readonly #dependencies: BindingServiceDependencies;

  constructor(dependencies: BindingServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Sends a six-digit code that binds this phone to this account. @throws rate_limit_exceeded, phone_unavailable */
  async sendPhoneCode(userId: number, phone: string): Promise<void> {
    const { store, clock, vault, rateLimits, phoneSender } = this.#dependencies;
    await rateLimits.phoneMessagesByAccount.consume(userId);
    await rateLimits.phoneMessagesByPhone.consume(phone);
    await rateLimits.phoneMessagesTotal.consume('all');
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    // Encrypted rather than hashed, because a hash of six digits is easily brute-forced.
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

  /** @param usedCode the sealed phone code that this binding consumes */
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

type BindingKind = 'phone' | 'messaging';

interface PhoneCode {
  readonly user_id: number;
  readonly phone: string;
  /** The code, encrypted with the vault. */
  readonly code: string;
  readonly expires_at: number;
}

/** SQL of `bindings` and `phone_codes`. */
export class BindingStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The kinds each account has bound. Accounts without a binding are absent. */
  async find(userIds: readonly number[]): Promise<ReadonlyMap<number, ReadonlySet<BindingKind>>> {
    const found = new Map<number, Set<BindingKind>>();
    if (userIds.length === 0) return found;
    const rows = await this.#database.kysely
      .selectFrom('bindings')
      .select(['user_id', 'kind'])
      .where('user_id', 'in', [...userIds])
      .execute();
    for (const { user_id, kind } of rows) found.set(user_id, (found.get(user_id) ?? new Set()).add(kind));
    return found;
  }

  /** Replaces the account's binding; returns false if another account has the value. */
  async put(trx: Trx, userId: number, kind: BindingKind, value: string, now: number): Promise<boolean> {
    await trx.deleteFrom('bindings').where('user_id', '=', userId).where('kind', '=', kind).execute();
    return wasChanged(
      await trx
        .insertInto('bindings')
        .values({ user_id: userId, kind, value, created_at: now })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst(),
    );
  }

  async deleteOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('bindings').where('user_id', '=', userId).execute();
    await trx.deleteFrom('phone_codes').where('user_id', '=', userId).execute();
  }

  /** Replaces the account's code, so that only the newest is valid. */
  async putPhoneCode(code: PhoneCode): Promise<void> {
    await this.#database.kysely
      .insertInto('phone_codes')
      .values({ ...code, wrong: 0 })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ ...code, wrong: 0 }))
      .execute();
  }

  /**
   * Counts one attempt before its code is checked.
   *
   * @returns undefined if no code is valid for that phone or its attempts are exhausted
   */
  countPhoneAttempt(userId: number, phone: string, maxAttempts: number, now: number) {
    return this.#database.kysely
      .updateTable('phone_codes')
      .set((row) => ({ wrong: row('wrong', '+', 1) }))
      .where('user_id', '=', userId)
      .where('phone', '=', phone)
      .where('wrong', '<', maxAttempts)
      .where('expires_at', '>', now)
      .returning('code')
      .executeTakeFirst();
  }

  /** Deletes codes that were never used, along with the phones they were sent to. */
  async deleteExpiredCodes(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('phone_codes').where('expires_at', '<=', now).execute();
  }

  /** Deletes a code; returns true for exactly one of several concurrent callers. */
  async consumePhoneCode(trx: Trx, userId: number, code: string): Promise<boolean> {
    return wasChanged(
      await trx.deleteFrom('phone_codes').where('user_id', '=', userId).where('code', '=', code).executeTakeFirst(),
    );
  }
}

const TIMEOUT_MS = 10_000;
const MAX_MESSAGING_ID_LENGTH = 200;

/** Sends a code to a phone. */
export interface PhoneCodeSender {
  /** @throws phone_unavailable */
  send(phone: string, code: string): Promise<void>;
}

/** Asks the operator's service which messaging-app account a code belongs to. */
interface MessagingAccountLookup {
  /** The id of the messaging account; undefined for a wrong code. @throws messaging_unavailable */
  verify(code: string): Promise<string | undefined>;
}

/** Development sender: writes the code to the operator's log. */
export class LogPhoneSender implements PhoneCodeSender {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  async send(phone: string, code: string): Promise<void> {
    this.#log.info({ phone }, `the code for this phone is ${code}`);
  }
}

/** POSTs `{phone, code}` to a URL of the operator; any 2xx counts as sent. */
export class HttpPhoneSender implements PhoneCodeSender {
  readonly #outbound: OutboundClient;
  readonly #url: string;

  constructor(outbound: OutboundClient, url: string) {
    this.#outbound = outbound;
    this.#url = url;
  }

  async send(phone: string, code: string): Promise<void> {
    const response = await callOrFail('phone_unavailable', () =>
      this.#outbound.requestJson({
        method: 'POST',
        url: this.#url,
        private: true,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ phone, code }),
        totalTimeoutMs: TIMEOUT_MS,
      }),
    );
    if (response.status < 200 || response.status > 299)
      throw new AppError('phone_unavailable', { log: { status: response.status } });
  }
}

/** GETs `<url>?code=…`, which returns `{success, data: account id}`. Verification is unavailable without a URL. */
export class HttpMessagingAccountLookup implements MessagingAccountLookup {
  readonly #outbound: OutboundClient;
  readonly #url: string | undefined;

  constructor(outbound: OutboundClient, url: string | undefined) {
    this.#outbound = outbound;
    this.#url = url;
  }

  async verify(code: string): Promise<string | undefined> {
    if (this.#url === undefined) throw new AppError('messaging_unavailable');
    const target = new URL(this.#url);
    target.searchParams.set('code', code);
    const response = await callOrFail('messaging_unavailable', () =>
      this.#outbound.requestJson({ method: 'GET', url: target.href, private: true, totalTimeoutMs: TIMEOUT_MS }),
    );
    return parseMessagingId(response);
  }
}

/** Accepts a string or an integer; any other success response contains no usable id. */
function parseMessagingId({ status, json }: BufferedResponse): string | undefined {
  const { success, data } = isObject(json) ? json : {};
  if (status >= 500 || typeof success !== 'boolean') throw new AppError('messaging_unavailable', { log: { status } });
  if (!success) return undefined;
  const id = typeof data === 'number' && Number.isSafeInteger(data) ? String(data) : data;
  if (typeof id !== 'string' || id === '' || id.length > MAX_MESSAGING_ID_LENGTH || id.includes('\u0000'))
    throw new AppError('messaging_unavailable', { log: { status, reason: 'no account id' } });
  return id;
}

async function callOrFail(
  code: 'phone_unavailable' | 'messaging_unavailable',
  call: () => Promise<BufferedResponse>,
): Promise<BufferedResponse> {
  try {
    return await call();
  } catch (error) {
    throw new AppError(code, { log: { err: error }, cause: error });
  }
}
