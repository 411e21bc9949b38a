import type { Selectable } from 'kysely';
import {
  OUTAGE_DAYS,
  OUTAGE_LEVELS,
  type OutageLevel,
  PRODUCT_AREAS,
  type ProductArea,
} from '../../contract/service.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Database } from '../platform/db/database.ts';
import { toKeyRange } from '../platform/db/sql.ts';
import type { Sample } from '../platform/metrics.ts';
import type { Tables } from '../tables.ts';

/** Affected product areas and how far; areas that work are absent. */
export type AffectedAreas = Readonly<Partial<Record<ProductArea, OutageLevel>>>;

/** When a product area did not work. */
export type Outage = Pick<Selectable<Tables['outages']>, 'area' | 'level' | 'started_at' | 'ended_at'>;

const AREAS_OF_CALLS: Readonly<Record<string, ProductArea>> = {
  submit: 'video',
  poll: 'video',
  image: 'video',
  chat: 'chat',
};
const LEAST_FAILED_CALLS = 3;
/** Outcomes that say nothing about the service: mistakes of callers, and a full vendor, whose calls wait or go elsewhere. */
const NO_FAULT = new Set(['user', 'policy', 'rate']);

/**
 * The areas whose calls to upstreams fail. An area is down if more than half of its calls failed at every vendor that
 * was called, and limited if they did at one of several: other vendors may take over, or offer other models.
 *
 * @param calls increase of `upstream_calls_total`
 */
export function areasOfFailedCalls(calls: readonly Sample[]): AffectedAreas {
  const sums = new Map<string, { area: ProductArea; failed: number; all: number }>();
  for (const { labels: { kind = '', vendor = '', outcome = '' } = {}, value } of calls) {
    const area = AREAS_OF_CALLS[kind];
    if (area === undefined || NO_FAULT.has(outcome) || value === 0) continue;
    const sum = sums.get(`${area} ${vendor}`) ?? { area, failed: 0, all: 0 };
    sums.set(`${area} ${vendor}`, {
      area,
      failed: sum.failed + (outcome === 'ok' ? 0 : value),
      all: sum.all + value,
    });
  }
  const vendors = [...sums.values()];
  const isBroken = ({ failed, all }: { failed: number; all: number }): boolean =>
    failed >= LEAST_FAILED_CALLS && failed > 0.5 * all;
  return Object.fromEntries(
    PRODUCT_AREAS.flatMap((area) => {
      const own = vendors.filter((each) => each.area === area);
      const broken = own.filter(isBroken);
      return broken.length === 0 ? [] : [[area, broken.length === own.length ? 'down' : 'limited'] as const];
    }),
  );
}

const worst = (levels: readonly OutageLevel[]): OutageLevel | undefined =>
  OUTAGE_LEVELS.findLast((level) => levels.includes(level));

/** The worst level of each area in any of these. */
export const mergeAreas = (all: readonly AffectedAreas[]): AffectedAreas =>
  Object.fromEntries(
    PRODUCT_AREAS.flatMap((area) => {
      const level = worst(all.flatMap((each) => each[area] ?? []));
      return level === undefined ? [] : [[area, level] as const];
    }),
  );

/** Every area at this level. */
export const allAreas = (level: OutageLevel): AffectedAreas =>
  Object.fromEntries(PRODUCT_AREAS.map((area) => [area, level]));

/** Outages with those of one area that touch or overlap merged, newest first. */
export function mergeOutages(outages: readonly Outage[]): Outage[] {
  const merged: Outage[] = [];
  for (const outage of outages.toSorted((one, other) => one.started_at - other.started_at)) {
    const index = merged.findLastIndex(
      ({ area, ended_at: end }) => area === outage.area && (end === null || end >= outage.started_at),
    );
    const earlier = merged[index];
    if (earlier === undefined) merged.push(outage);
    else
      merged[index] = {
        ...earlier,
        level: worst([earlier.level, outage.level]) ?? earlier.level,
        ended_at:
          earlier.ended_at === null || outage.ended_at === null ? null : Math.max(earlier.ended_at, outage.ended_at),
      };
  }
  return merged.toSorted((one, other) => other.started_at - one.started_at);
}

/** SQL of `outages`. */
export class OutageStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Makes the open outages those of `areas`: opens, worsens and ends them. Writes only what changed. */
  async update(areas: AffectedAreas, now: number): Promise<void> {
    const { kysely } = this.#database;
    const open = await kysely.selectFrom('outages').selectAll().where('ended_at', 'is', null).execute();
    for (const area of PRODUCT_AREAS) {
      const [level, own] = [areas[area], open.filter((each) => each.area === area)];
      const change = kysely.updateTable('outages').where('area', '=', area).where('ended_at', 'is', null);
      if (level === undefined) {
        if (own.length > 0) await change.set({ ended_at: now }).execute();
      } else if (own.length === 0) await this.add([{ area, level, started_at: now, ended_at: null }]);
      else if (level === 'down' && own.some((each) => each.level !== 'down')) await change.set({ level }).execute();
    }
  }

  async add(outages: readonly Outage[]): Promise<void> {
    await this.#database.kysely
      .insertInto('outages')
      .values([...outages])
      .execute();
  }

  /** Outages of the last days, newest first. */
  async list(now: number): Promise<Outage[]> {
    const rows = await this.#database.kysely
      .selectFrom('outages')
      .select(['area', 'level', 'started_at', 'ended_at'])
      .where((where) => where.or([where('ended_at', 'is', null), where('ended_at', '>', firstDay(now))]))
      .execute();
    return mergeOutages(rows);
  }

  async removeForgotten(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('outages').where('ended_at', '<=', firstDay(now)).execute();
  }
}

const firstDay = (now: number): number => now - OUTAGE_DAYS * DAY_MS;

interface DayFigures {
  readonly requests: number;
  readonly failed: number;
  readonly quota: number;
}

/** Errors that persist until the account or an administrator changes something. */
const BLOCKING_CODES = ['quota_not_enough', 'model_not_allowed', 'upstream_unavailable'];
const MAX_BLOCKED = 20;
const REQUESTS = { table: 'requests', key: 'seq', time: 'created_at' } as const;

/** SQL of the request log figures in the administrators' overview. */
export class DayFiguresStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Counts calls that ended within a period; `to` is exclusive. */
  async figures(from: number, to: number): Promise<DayFigures> {
    const { kysely } = this.#database;
    const { first = 0, before = Number.MAX_SAFE_INTEGER } = await toKeyRange(kysely, REQUESTS, { from, to });
    const row = await kysely
      .selectFrom('requests')
      .where('seq', '>=', first)
      .where('seq', '<', before)
      .where('created_at', '>=', from)
      .where('created_at', '<', to)
      .select(({ fn, eb }) => [
        fn.countAll<number>().as('requests'),
        fn.sum<number>(eb.case().when('status', '=', 'failed').then(1).else(0).end()).as('failed'),
        fn.sum<number>('quota').as('quota'),
      ])
      .executeTakeFirst();
    // PostgreSQL sums bigints to a numeric, which arrives as a string; no rows sum to null.
    return {
      requests: Number(row?.requests ?? 0),
      failed: Number(row?.failed ?? 0),
      quota: Number(row?.quota ?? 0),
    };
  }

  /** Accounts with refused calls since a time, most frequent first. */
  async blocked(from: number) {
    const { kysely } = this.#database;
    const { first = 0 } = await toKeyRange(kysely, REQUESTS, { from });
    const rows = await kysely
      .selectFrom('requests')
      .innerJoin('accounts', 'accounts.id', 'requests.user_id')
      .where('requests.seq', '>=', first)
      .where('requests.created_at', '>=', from)
      .where('requests.status', '=', 'failed')
      .where('requests.error_code', 'in', BLOCKING_CODES)
      .groupBy(['requests.user_id', 'accounts.username', 'requests.error_code'])
      .select(['requests.user_id', 'accounts.username', 'requests.error_code'])
      .select(({ fn }) => [fn.countAll<number>().as('requests'), fn.max<number>('requests.created_at').as('last_time')])
      .orderBy('requests', 'desc')
      .limit(MAX_BLOCKED)
      .execute();
    return rows.map((row) => ({ ...row, requests: Number(row.requests) }));
  }
}
