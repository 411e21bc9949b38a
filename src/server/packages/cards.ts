import type { Static } from 'typebox';
import { type adminChangeCard, type adminMakeCard, NO_PACKAGE } from '../../contract/packages.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, notExist } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import {
  type CardRow,
  deleteCard,
  ENABLED,
  findCard,
  findCardByCode,
  insertCard,
  isCardInUse,
  listCards,
  listOffered,
  lockCard,
  updateCard,
} from './card-store.ts';
import type { Actor } from './plans.ts';

type NewCard = Static<(typeof adminMakeCard)['body']>;
type CardChange = Static<(typeof adminChangeCard)['body']>;

export interface Cards {
  /** What people may buy or redeem, by level. */
  offered(): Promise<CardRow[]>;
  list(page: Page): Promise<{ rows: CardRow[]; total: number }>;
  /** @throws not_exist */
  get(id: number): Promise<CardRow>;
  /** @throws already_exists */
  make(actor: Actor, card: NewCard): Promise<number>;
  /** @throws not_exist, already_exists, package_builtin */
  change(actor: Actor, id: number, change: CardChange): Promise<void>;
  /** @throws not_exist, package_builtin, in_use */
  remove(actor: Actor, id: number): Promise<void>;
}

export interface CardParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly audit: Audit;
}

/** What the no-package card cannot be changed to: it has no level, no end, no price, and is always there. */
const FIXED_ON_BUILTIN = ['package_code', 'level', 'duration_days', 'purchasable', 'status', 'price_amount'] as const;

export function makeCards({ database, clock, audit }: CardParts): Cards {
  const { kysely } = database;
  const postgres = database.dialect === 'postgres';
  const taken = () => new AppError('already_exists', { params: { what: 'package card' } });
  const existing = (card: CardRow | undefined): CardRow => {
    if (card === undefined) throw notExist('package card');
    return card;
  };
  return {
    offered: () => listOffered(kysely),
    list: (page) => listCards(kysely, page),
    get: async (id) => existing(await findCard(kysely, id)),
    make: (actor, card) =>
      database.transaction(async (trx) => {
        const row = {
          description: '',
          price_amount: 0,
          daily_quota: 0,
          refresh_interval_seconds: 0,
          interval_quota: 0,
          weekly_quota_limit: 0,
          status: ENABLED,
          ...toColumns({ purchasable: true, models: [], ...card }),
          package_code: card.package_code,
          name: card.name,
          level: card.level,
          duration_days: card.duration_days,
          purchasable: card.purchasable === false ? 0 : 1,
          models: JSON.stringify(card.models ?? []),
          system_builtin: 0,
          created_at: clock.now(),
        };
        const id = await insertCard(trx, row);
        if (id === undefined) throw taken();
        await audit.record(trx, { ...actor, action: 'package-card.create', target: `package-card:${id}`, after: row });
        return id;
      }),
    change: (actor, id, change) =>
      database.transaction(async (trx) => {
        const before = existing(await lockCard(trx, postgres, id));
        if (before.package_code === NO_PACKAGE && FIXED_ON_BUILTIN.some((key) => change[key] !== undefined))
          throw new AppError('package_builtin');
        const other = change.package_code === undefined ? undefined : await findCardByCode(trx, change.package_code);
        if (other !== undefined && other.id !== id) throw taken();
        const columns = toColumns(change);
        if (Object.keys(columns).length === 0) return;
        await updateCard(trx, id, columns);
        const target = `package-card:${id}`;
        await audit.record(trx, {
          ...actor,
          action: 'package-card.update',
          target,
          before,
          after: { ...before, ...columns },
        });
      }),
    remove: (actor, id) =>
      database.transaction(async (trx) => {
        const before = existing(await lockCard(trx, postgres, id));
        if (before.system_builtin === 1) throw new AppError('package_builtin');
        if (await isCardInUse(trx, id)) throw new AppError('in_use', { params: { what: 'package card' } });
        await deleteCard(trx, id);
        await audit.record(trx, { ...actor, action: 'package-card.delete', target: `package-card:${id}`, before });
      }),
  };
}

/** The named keys as columns. */
function toColumns({ purchasable, models, ...rest }: CardChange) {
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ...(purchasable === undefined ? {} : { purchasable: purchasable ? 1 : 0 }),
    ...(models === undefined ? {} : { models: JSON.stringify(models) }),
  };
}
