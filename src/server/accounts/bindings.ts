import { randomInt } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import { isSameSecret, type Vault } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { Audit } from './audit.ts';
import {
  type BindingKind,
  bookPhoneTry,
  findBindings,
  putBinding,
  putPhoneCode,
  takePhoneCode,
} from './binding-store.ts';
import type { Budgets } from './budgets.ts';
import type { MessagingVerifier, PhoneDriver } from './couriers.ts';
import type { Trace } from './people.ts';

const CODE_MS = 10 * 60_000;
const MOST_WRONG = 5;

/** A phone and a messaging-app account, each bound to one account at a time. */
export interface Bindings {
  /** Sends six digits that bind this phone to this account. @throws rate_limit_exceeded, phone_unavailable */
  sendPhoneCode(userId: number, phone: string): Promise<void>;
  /** @throws wrong_code, binding_taken */
  bindPhone(userId: number, phone: string, code: string, trace: Trace): Promise<void>;
  /** @throws wrong_code, binding_taken, messaging_unavailable, rate_limit_exceeded */
  bindMessaging(userId: number, code: string, trace: Trace): Promise<void>;
  /** Whether anything is bound, which mailboxes ask for. */
  hasAny(userId: number): Promise<boolean>;
}

export interface BindingParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly budgets: Budgets;
  readonly audit: Audit;
  readonly phone: PhoneDriver;
  readonly messaging: MessagingVerifier;
}

export function makeBindings({
  database,
  clock,
  vault,
  budgets,
  audit,
  phone: driver,
  messaging,
}: BindingParts): Bindings {
  const { kysely } = database;
  const placeOf = (userId: number) => ({ table: 'phone_codes', row: userId, column: 'code' });

  const bind = (userId: number, kind: BindingKind, value: string, trace: Trace, usedCode?: string) =>
    database.transaction(async (trx) => {
      if (usedCode !== undefined && !(await takePhoneCode(trx, userId, usedCode))) throw new AppError('wrong_code');
      if (!(await putBinding(trx, userId, kind, value, clock.now()))) throw new AppError('binding_taken');
      await audit.record(trx, { actorId: userId, action: `self.bind-${kind}`, target: `user:${userId}`, ...trace });
    });

  return {
    async sendPhoneCode(userId, phone) {
      await budgets.phoneSendsOfAccount.spend(userId);
      await budgets.phoneSendsOfPhone.spend(phone);
      await budgets.phoneSendsOfAll.spend('all');
      const code = String(randomInt(1_000_000)).padStart(6, '0');
      const sealed = vault.seal(code, placeOf(userId));
      await putPhoneCode(kysely, { user_id: userId, phone, code: sealed, expires_at: clock.now() + CODE_MS });
      await driver.send(phone, code);
    },
    async bindPhone(userId, phone, code, trace) {
      const booked = await bookPhoneTry(kysely, userId, phone, MOST_WRONG, clock.now());
      if (booked === undefined || !isSameSecret(vault.open(booked.code, placeOf(userId)), code)) {
        throw new AppError('wrong_code');
      }
      await bind(userId, 'phone', phone, trace, booked.code);
    },
    async bindMessaging(userId, code, trace) {
      await budgets.messagingOfAccount.spend(userId);
      const messagingId = await messaging.verify(code);
      if (messagingId === undefined) throw new AppError('wrong_code');
      await bind(userId, 'messaging', messagingId, trace);
    },
    hasAny: async (userId) => (await findBindings(kysely, [userId])).has(userId),
  };
}
