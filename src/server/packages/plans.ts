import type { Transaction } from 'kysely';
import { NO_PACKAGE } from '../../contract/packages.ts';
import type { Audit, AuditEntry } from '../accounts/audit.ts';
import type { Standing } from '../accounts/standing.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, notExist } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { runningOf } from './allowances.ts';
import { type CardRow, ENABLED, findCardByCode, lockCard } from './card-store.ts';
import { endedNotice, endingSoonNotice } from './notices.ts';
import {
  dropOldUse,
  endHolding,
  extendHolding,
  findHoldings,
  type HeldCard,
  insertHolding,
  listEndingSoon,
  lockAccount,
  markWarned,
  startHolding,
  usersWithEnded,
} from './plan-store.ts';
import { endOf, placeOf, type Timeline, timelineAt } from './timeline.ts';

type Trx = Transaction<Tables>;
/** Who changes something, for the audit log. */
export type Actor = Required<Pick<AuditEntry, 'actorId' | 'address' | 'requestId'>>;

export interface Granted {
  readonly outcome: 'active' | 'extended' | 'waiting' | 'credited' | 'ended';
  /** Empty where quota was credited. */
  readonly packageCode: string;
  /** Unix milliseconds; 0: none runs. */
  readonly expiresAt: number;
}

export interface Plans {
  /** Gives an account a package, in the transaction of what pays for it. @throws package_unavailable */
  grant(trx: Trx, userId: number, cardId: number, source: string, days?: number): Promise<Granted>;
  /** An administrator gives or ends a package. @throws not_exist, rank_too_low, package_unavailable */
  activate(
    actor: Actor,
    wish: { readonly userId: number; readonly code: string; readonly days?: number | undefined },
  ): Promise<Granted>;
  /** Code and end (Unix seconds, 0: none) of what an account is on. */
  planOf(userId: number): Promise<{ code: string; expiresAt: number }>;
  /** Writes down what has ended, and tells those whose package ends soon. */
  sweep(): Promise<void>;
}

export interface PlanParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly notifier: Notifier;
  readonly audit: Audit;
  readonly standing: Pick<Standing, 'find' | 'assertManages'>;
  readonly timeZoneIn: (trx: Trx, userId: number) => Promise<string>;
}

const DAY_MS = 86_400_000;
/** How long before its end the owner of a package is told. */
const WARN_MS = 3 * DAY_MS;
const BATCH = 200;
/** Windows are at most a year long. */
const USE_KEPT_MS = 400 * DAY_MS;

export function makePlans(parts: PlanParts): Plans {
  const { database, clock, notifier, audit, standing, timeZoneIn } = parts;
  const postgres = database.dialect === 'postgres';

  /** Locks an account's packages and writes down what has ended and begun since. */
  const bringUpToDate = async (trx: Trx, userId: number, now: number): Promise<Timeline<HeldCard>> => {
    await lockAccount(trx, userId, await timeZoneIn(trx, userId));
    const timeline = timelineAt((await findHoldings(trx, userId)).held, now);
    const { current, ended } = timeline;
    for (const holding of ended) await endHolding(trx, holding.id, holding.expires_at);
    if (current?.state === 'waiting') await startHolding(trx, current);
    const last = ended.at(-1);
    if (last !== undefined)
      await notifier.notify(trx, endedNotice(userId, last.id, last.card.name, current?.card.name));
    return timeline;
  };

  const grant: Plans['grant'] = async (trx, userId, cardId, source, days) => {
    const card = await lockCard(trx, postgres, cardId);
    if (card === undefined || card.status !== ENABLED) throw new AppError('package_unavailable');
    const now = clock.now();
    const { current, waiting } = await bringUpToDate(trx, userId, now);
    const duration = days ?? card.duration_days;
    const outcome = placeOf(current?.level, card.level);
    if (outcome === 'extended' && current !== undefined) {
      const expiresAt = current.expires_at + duration * DAY_MS;
      await extendHolding(trx, current.id, duration, expiresAt);
      return { outcome, packageCode: current.card.package_code, expiresAt };
    }
    if (outcome === 'active') {
      if (current !== undefined) await endHolding(trx, current.id, now);
      const expiresAt = endOf(now, duration);
      await insertHolding(trx, row(userId, card, source, now, { state: 'active', duration, startsAt: now, expiresAt }));
      return { outcome, packageCode: card.package_code, expiresAt };
    }
    const same = waiting.find((holding) => holding.card_id === card.id);
    if (same !== undefined) await extendHolding(trx, same.id, duration, 0);
    else
      await insertHolding(
        trx,
        row(userId, card, source, now, { state: 'waiting', duration, startsAt: 0, expiresAt: 0 }),
      );
    return { outcome: 'waiting', packageCode: card.package_code, expiresAt: current?.expires_at ?? 0 };
  };

  const endAll = async (trx: Trx, userId: number): Promise<Granted> => {
    const now = clock.now();
    const { current, waiting } = await bringUpToDate(trx, userId, now);
    for (const holding of [...(current === undefined ? [] : [current]), ...waiting])
      await endHolding(trx, holding.id, now);
    return { outcome: 'ended', packageCode: NO_PACKAGE, expiresAt: 0 };
  };

  const writeDownEnded = async (userId: number): Promise<void> => {
    await database.transaction((trx) => bringUpToDate(trx, userId, clock.now()));
  };

  return {
    grant,
    async activate(actor, { userId, code, days }) {
      if ((await standing.find(userId)) === undefined) throw notExist('account');
      return database.transaction(async (trx) => {
        await standing.assertManages(trx, actor.actorId, userId);
        const card = await findCardByCode(trx, code);
        if (card === undefined) throw notExist('package card');
        const before = runningOf(await findHoldings(trx, userId), clock.now());
        const granted =
          code === NO_PACKAGE
            ? await endAll(trx, userId)
            : await grant(trx, userId, card.id, `admin:${actor.actorId}`, days);
        await audit.record(trx, {
          ...actor,
          action: 'package.activate',
          target: `user:${userId}`,
          before: { package_code: before.card.package_code, expires_at: before.timeline.current?.expires_at ?? 0 },
          after: {
            package_code: code,
            ...(days === undefined ? {} : { duration_days: days }),
            outcome: granted.outcome,
            expires_at: granted.expiresAt,
          },
        });
        return granted;
      });
    },
    async planOf(userId) {
      const { card, timeline } = runningOf(await findHoldings(database.kysely, userId), clock.now());
      return { code: card.package_code, expiresAt: Math.floor((timeline.current?.expires_at ?? 0) / 1000) };
    },
    async sweep() {
      const now = clock.now();
      for (const userId of await usersWithEnded(database.kysely, now, BATCH)) await writeDownEnded(userId);
      for (const soon of await listEndingSoon(database.kysely, now, WARN_MS, BATCH)) {
        await database.transaction(async (trx) => {
          if (!(await markWarned(trx, soon.id, soon.expires_at))) return;
          const { waiting } = timelineAt((await findHoldings(trx, soon.user_id)).held, now);
          await notifier.notify(trx, endingSoonNotice(soon, waiting[0]?.card.name, now));
        });
      }
      await dropOldUse(database.kysely, now - USE_KEPT_MS);
    },
  };
}

const row = (
  userId: number,
  card: CardRow,
  source: string,
  now: number,
  dates: { state: 'active' | 'waiting'; duration: number; startsAt: number; expiresAt: number },
) => ({
  user_id: userId,
  card_id: card.id,
  state: dates.state,
  duration_days: dates.duration,
  starts_at: dates.startsAt,
  expires_at: dates.expiresAt,
  warned: 0,
  source,
  created_at: now,
});
