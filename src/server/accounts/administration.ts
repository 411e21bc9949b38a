import type { Role } from '../../contract/roles.ts';
import { mayManage } from '../../contract/roles.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, invalid, notExist } from '../platform/errors.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import { randomText } from '../platform/secrets.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import type { Audit } from './audit.ts';
import type { EndLogins } from './ending.ts';
import type { Passwords } from './passwords.ts';
import { type NewPerson, type People, type Trace, toEmail, unlessTaken } from './people.ts';
import type { SecurityNotices } from './security-notices.ts';
import { takeSession } from './session-store.ts';
import type { Sessions } from './sessions.ts';
import type { Standing } from './standing.ts';
import {
  type Account,
  DISABLED,
  ENABLED,
  emailInUse,
  findAccount,
  findByLogin,
  lockAccount,
  lockRoots,
  putPassword,
  removeAccount,
  updateAccount,
} from './store.ts';
import { revokeTokensOf } from './token-store.ts';

type Trx = Parameters<EndLogins>[0];

/** What an administrator may change; absent keys stay. */
export interface AccountChange {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly role?: Role | undefined;
  /** 1 enabled, 2 disabled. */
  readonly status?: number | undefined;
  /** The wallet afterwards. */
  readonly quota?: number | undefined;
  readonly quota_delta?: number | undefined;
  readonly note?: string | undefined;
  readonly display_name?: string | undefined;
  readonly email?: string | undefined;
}

export interface Administration {
  /** @throws rank_too_low, username_taken, email_taken */
  make(actor: AccountCaller, person: NewPerson, trace: Trace): Promise<number>;
  /** @throws not_exist, rank_too_low, last_root, username_taken, email_taken, quota_not_enough, invalid_request */
  change(actor: AccountCaller, id: number, change: AccountChange, trace: Trace): Promise<void>;
  /** @throws not_exist, rank_too_low, last_root */
  remove(actor: AccountCaller, id: number, trace: Trace): Promise<void>;
  /** Where somebody is logged in concerns whoever stands above alone. @throws not_exist, rank_too_low */
  sessions(actor: AccountCaller, id: number, page: Page): ReturnType<Sessions['list']>;
  /** @throws not_exist (also of another account), rank_too_low */
  endSession(actor: AccountCaller, id: number, sessionId: number, trace: Trace): Promise<void>;
}

export interface AdministrationParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly people: People;
  readonly passwords: Passwords;
  readonly quota: Quota;
  readonly audit: Audit;
  readonly endLogins: EndLogins;
  readonly notice: SecurityNotices;
  readonly sessions: Pick<Sessions, 'list'>;
  readonly standing: Pick<Standing, 'assertManages'>;
}

export function makeAdministration(parts: AdministrationParts): Administration {
  const { database, clock, people, passwords, quota, audit, endLogins, notice, sessions, standing } = parts;
  const postgres = database.dialect === 'postgres';

  /** The account, locked, if the actor stands above it. Roots are locked first and always, in one order. */
  const claim = async (trx: Trx, actor: AccountCaller, id: number) => {
    const roots = await lockRoots(trx, postgres);
    const account = await lockAccount(trx, postgres, id);
    if (account === undefined) throw notExist('account');
    if (!mayManage(actor.role, account.role)) throw new AppError('rank_too_low');
    return { account, isLastRoot: roots.length === 1 && roots[0] === id };
  };
  const keepOwn = (actor: AccountCaller, id: number): number | undefined =>
    actor.kind === 'session' && actor.userId === id ? actor.sessionId : undefined;

  const move = async (trx: Trx, id: number, change: AccountChange, delta: number) => {
    if (delta === 0) return;
    const note = change.note === undefined ? {} : { note: change.note };
    await quota.grant(trx, { userId: id, amount: delta, ref: `admin:${randomText(20)}`, ...note });
  };

  return {
    async make(actor, person, trace) {
      if (!mayManage(actor.role, person.role ?? 'user')) throw new AppError('rank_too_low');
      return people.make(person, (trx, id) =>
        audit.record(trx, {
          actorId: actor.userId,
          action: 'user.create',
          target: `user:${id}`,
          after: { username: person.username, role: person.role ?? 'user', quota: person.quota },
          ...trace,
        }),
      );
    },
    async change(actor, id, change, trace) {
      if (change.quota !== undefined && change.quota_delta !== undefined) {
        throw invalid('Give quota or quota_delta, not both.', 'quota');
      }
      const hash = change.password === undefined ? undefined : await passwords.hash(change.password);
      const delta =
        change.quota === undefined ? (change.quota_delta ?? 0) : change.quota - (await quota.wallet(id)).balance;
      await unlessTaken('username_taken', () =>
        database.transaction(async (trx) => {
          const { account, isLastRoot } = await claim(trx, actor, id);
          if (change.role !== undefined && !mayManage(actor.role, change.role)) throw new AppError('rank_too_low');
          if (isLastRoot && losesRoot(change)) throw new AppError('last_root');
          const columns = toColumns(change);
          await assertFree(trx, account, columns);
          if (Object.keys(columns).length > 0) await updateAccount(trx, id, columns);
          if (hash !== undefined) {
            await putPassword(trx, id, hash, clock.now());
            await notice(trx, id, 'password');
          }
          await move(trx, id, change, delta);
          if (hash !== undefined || changes(account, columns, 'role') || changes(account, columns, 'status')) {
            await endLogins(trx, id, keepOwn(actor, id));
          }
          await audit.record(trx, {
            actorId: actor.userId,
            action: 'user.update',
            target: `user:${id}`,
            before: pick(account, columns),
            after: {
              ...columns,
              ...(hash === undefined ? {} : { password: '[changed]' }),
              ...(delta === 0 ? {} : { quota_delta: delta }),
              ...(change.note === undefined ? {} : { note: change.note }),
            },
            ...trace,
          });
        }),
      );
    },
    remove: (actor, id, trace) =>
      database.transaction(async (trx) => {
        const { account, isLastRoot } = await claim(trx, actor, id);
        if (isLastRoot) throw new AppError('last_root');
        await endLogins(trx, id);
        await revokeTokensOf(trx, id, clock.now());
        await removeAccount(trx, id, clock.now());
        const { username, role } = account;
        const before = { username, role };
        await audit.record(trx, {
          actorId: actor.userId,
          action: 'user.delete',
          target: `user:${id}`,
          before,
          ...trace,
        });
      }),
    async sessions(actor, id, page) {
      const account = await findAccount(database.kysely, id);
      if (account === undefined) throw notExist('account');
      if (!mayManage(actor.role, account.role)) throw new AppError('rank_too_low');
      return sessions.list(id, page);
    },
    endSession: (actor, id, sessionId, trace) =>
      database.transaction(async (trx) => {
        await standing.assertManages(trx, actor.userId, id);
        const ended = await takeSession(trx, id, sessionId);
        if (ended === undefined) throw notExist('session');
        const before = { session: sessionId, ...ended };
        await audit.record(trx, {
          actorId: actor.userId,
          action: 'user.session_end',
          target: `user:${id}`,
          before,
          ...trace,
        });
      }),
  };
}

type Columns = Parameters<typeof updateAccount>[2];

const losesRoot = ({ role, status }: AccountChange): boolean =>
  (role !== undefined && role !== 'root') || status === DISABLED;

function toColumns({ username, email, display_name, role, status }: AccountChange): Columns {
  const address = toEmail(email);
  return {
    ...(username === undefined ? {} : { username }),
    ...(address === undefined ? {} : { email: address }),
    ...(display_name === undefined ? {} : { display_name }),
    ...(role === undefined ? {} : { role }),
    ...(status === undefined ? {} : { status: status === DISABLED ? DISABLED : ENABLED }),
  };
}

async function assertFree(trx: Trx, { id }: Account, { username, email }: Columns): Promise<void> {
  if (email && (await emailInUse(trx, email, id))) throw new AppError('email_taken');
  if (username === undefined) return;
  const holder = await findByLogin(trx, username);
  if (holder !== undefined && holder.id !== id) throw new AppError('username_taken');
}

const changes = (account: Account, columns: Columns, key: 'role' | 'status'): boolean =>
  columns[key] !== undefined && columns[key] !== account[key];

const pick = (account: Account, columns: Columns): Partial<Account> =>
  Object.fromEntries(Object.keys(columns).map((key) => [key, account[key as keyof Columns]]));
