import { isDeepStrictEqual } from 'node:util';
import { type Insertable, type Selectable, sql } from 'kysely';
import { exceedsTolerance } from '../../contract/admin-videos.ts';
import { DAY_MS, HOUR_MS, toSeconds } from '../../contract/time-units.ts';
import type { Channel } from '../channels/directory.ts';
import type { AdminNotifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows } from '../platform/db/sql.ts';
import { type Log, maskSecrets } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { Tables, Trx } from '../tables.ts';
import { type AdapterContext, PollFailed } from '../upstreams/upstream.ts';
import type { Json } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';

/** Dependencies of {@link Reconciliation}. */
export interface ReconciliationDependencies {
  readonly store: ReconciliationStore;
  readonly vendors: Pick<VendorRegistry, 'find'>;
  readonly contexts: { contextFor(channel: Channel, signal: AbortSignal): AdapterContext };
  readonly channels: { catalog(): Promise<Catalog> };
  readonly notices: Pick<DifferenceNotices, 'report'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface Catalog {
  readonly channels: ReadonlyMap<
    number,
    { readonly channel: Channel; readonly enabled: boolean; readonly credentials: { readonly size: number } }
  >;
}

/** A channel with several keys spreads its videos over several accounts. */
const isShared = (entry: { readonly credentials: { readonly size: number } } | undefined): boolean =>
  (entry?.credentials.size ?? 0) > 1;

const READ_TIMEOUT_MS = 20_000;
const MAX_ERROR_LENGTH = 500;
const MICRO = 1_000_000;
/** Covers the judged period plus the largest skew of a vendor, twelve hours. */
const JUDGED_MS = 4 * DAY_MS;
/** Metrics and pages read the states far more often than accounts are read. */
const STATES_KEPT_MS = 60_000;

/**
 * Compares the units settled over each channel with the units its vendor billed to the account, every hour, for vendors
 * that report usage: units of all videos that ended between two readings against the change of the account. A video
 * that ends while the account is read falls into this hour here and into the next one at the vendor, so about a day is
 * judged at a time (`compareBills`).
 */
export class Reconciliation {
  readonly #dependencies: ReconciliationDependencies;
  readonly job: ScheduledJob;
  #states:
    | { readonly at: number; readonly catalog: Catalog; readonly value: Promise<readonly VendorAccountState[]> }
    | undefined;

  constructor(dependencies: ReconciliationDependencies) {
    this.#dependencies = dependencies;
    this.job = { name: 'reconciliation', intervalMs: HOUR_MS, run: (signal) => this.reconcileAll(signal) };
  }

  /**
   * Reads the accounts of all enabled channels sequentially and reports differences. An account that cannot be read is
   * recorded.
   */
  async reconcileAll(signal: AbortSignal): Promise<void> {
    const { channels, log, notices } = this.#dependencies;
    for (const { channel, enabled } of (await channels.catalog()).channels.values()) {
      if (!enabled || signal.aborted) continue;
      await this.reconcile(channel).catch((error: unknown) => {
        if (!(error instanceof OutboundError) && !(error instanceof PollFailed)) throw error;
        log.warn({ err: error, channelId: channel.id }, "a vendor's account could not be read");
      });
    }
    for (const state of await this.states()) await notices.report(state);
  }

  /**
   * States of all channels whose vendors report usage; at most a minute old, for the channels as currently configured.
   */
  async states(): Promise<readonly VendorAccountState[]> {
    const { clock, channels } = this.#dependencies;
    // A new object whenever a channel is changed.
    const catalog = await channels.catalog();
    const now = clock.now();
    const kept = this.#states;
    if (kept?.catalog === catalog && Math.abs(now - kept.at) < STATES_KEPT_MS) return kept.value;
    const value = this.#readStates(now, catalog);
    this.#states = { at: now, catalog, value };
    value.catch(() => {
      this.#states = undefined;
    });
    return value;
  }

  async #readStates(now: number, { channels }: Catalog): Promise<readonly VendorAccountState[]> {
    const { store, vendors } = this.#dependencies;
    const [rows, reads] = await Promise.all([store.since(now - JUDGED_MS), store.accountReads()]);
    return [...channels.values()].flatMap((entry) => {
      const { channel } = entry;
      const usage = vendors.find(channel.vendor)?.accountUsage;
      if (usage === undefined || isShared(entry)) return [];
      const own = rows.filter((row) => row.channel_id === channel.id);
      const read = reads.find((row) => row.channel_id === channel.id);
      const { unit, skewMs } = usage;
      return [
        {
          channel,
          readAt: read?.read_at ?? null,
          failedAt: read?.failed_at ?? null,
          error: read?.error ?? '',
          unit,
          skewMs,
          judgement: compareBills(own, now, skewMs),
        },
      ];
    });
  }

  /**
   * Reads the account of one channel and stores the reading.
   * @returns undefined if the vendor has no endpoint for it, and for a channel with several credentials, because only
   *   the vendor knows whether they belong to one account
   * @throws OutboundError, PollFailed if the account could not be read
   */
  async reconcile(channel: Channel): Promise<ReconciliationRow | undefined> {
    const { channels, store, vendors, contexts, clock } = this.#dependencies;
    const adapter = vendors.find(channel.vendor);
    const usage = adapter?.accountUsage;
    if (adapter === undefined || usage === undefined) return undefined;
    // A vendor does not report which of several keys it billed.
    if (isShared((await channels.catalog()).channels.get(channel.id))) return undefined;
    this.#states = undefined;
    const startedAt = clock.now();
    const counted = await usage
      .read(contexts.contextFor(channel, AbortSignal.timeout(READ_TIMEOUT_MS)))
      .catch(async (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        await store.noteRead(channel.id, clock.now(), maskSecrets(message).slice(0, MAX_ERROR_LENGTH));
        throw error;
      });
    await store.noteRead(channel.id, clock.now(), null);
    const sharing = await this.#sharing(channel);
    const counter = Math.round(counted * MICRO);
    return store.addAfterNewest(channel.id, startedAt, async (trx, before) => {
      // Two readings in one millisecond count as one.
      const to = Math.max(clock.now(), (before?.to_time ?? 0) + 1);
      const videos = before === undefined ? [] : await store.settledVideos(sharing, before.to_time, to, trx);
      const billed = before === undefined ? null : counter - before.counter;
      return {
        channel_id: channel.id,
        vendor: adapter.name,
        unit: usage.unit,
        from_time: before?.to_time ?? null,
        to_time: to,
        counter,
        videos: videos.length,
        settled_units: videos.reduce((sum, video) => sum + this.#unitsOf(video), 0),
        settled_quota: videos.reduce((sum, { quota }) => sum + quota, 0),
        billed_units: billed === null || billed < 0 ? null : billed,
      };
    });
  }

  /**
   * All channels that use this channel's account, recognized by the same credentials: the vendor counts their videos
   * together.
   */
  async #sharing({ id, vendor, credentials }: Channel): Promise<readonly number[]> {
    const { channels } = await this.#dependencies.channels.catalog();
    const others = [...channels.values()].filter(
      ({ channel }) => channel.vendor === vendor && isDeepStrictEqual(channel.credentials, credentials),
    );
    return [...new Set([id, ...others.map(({ channel }) => channel.id)])];
  }

  /** Billed units in millionths; 0 if the response has no figures or was emptied. */
  #unitsOf({ vendor, data }: SettledVideo): number {
    if (data === '') return 0;
    const units = this.#dependencies.vendors.find(vendor)?.billedFacts?.(JSON.parse(data) as Json)?.units;
    return Math.round((units ?? 0) * MICRO);
  }
}

type Reading = Pick<ReconciliationRow, 'from_time' | 'to_time' | 'settled_units' | 'billed_units'>;

/** Units a vendor billed in a period, against the units that can have been settled in it. In millionths. */
interface BilledComparison {
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly billed: number;
  /** Units settled in the period. */
  readonly settled: number;
  /** Amount by which `billed` lies outside the range explained by the settled videos; 0 if they explain it. */
  readonly unexplained: number;
}

/**
 * Compares about a day of one channel's readings. A vendor counts usage up to `skewMs` before a video ends (units are
 * taken when a job starts) or after (usage is counted late). The billed units of a period are therefore compared with
 * the least that was settled well inside it and the most that was settled around it. The period ends `skewMs` ago,
 * because later usage is not known yet.
 *
 * @returns undefined while no reading in the period has a figure
 */
export function compareBills(
  readings: readonly Reading[],
  nowMs: number,
  skewMs: number,
): BilledComparison | undefined {
  const [end, begin] = [nowMs - skewMs, nowMs - DAY_MS - 5 * skewMs];
  const judged = readings.filter(({ to_time: to, billed_units: billed }) => billed !== null && to > begin && to <= end);
  if (judged.length === 0) return undefined;
  const from = Math.min(...judged.map((row) => row.from_time ?? row.to_time));
  const to = Math.max(...judged.map((row) => row.to_time));
  const settledOf = (rows: readonly Reading[], fits: (first: number, last: number) => boolean): number =>
    rows.reduce((sum, row) => (fits(row.from_time ?? row.to_time, row.to_time) ? sum + row.settled_units : sum), 0);
  const most = settledOf(readings, (first, last) => last > from - skewMs && first < to + skewMs);
  // Units billed before an account was topped up are unknown, so their videos need not be covered.
  const least = settledOf(judged, (first, last) => first >= from + skewMs && last <= to - skewMs);
  const billed = judged.reduce((sum, row) => sum + (row.billed_units ?? 0), 0);
  const explained = Math.min(Math.max(billed, least), most);
  const unexplained = exceedsTolerance(billed / MICRO, explained / MICRO) ? billed - explained : 0;
  const settled = judged.reduce((sum, row) => sum + row.settled_units, 0);
  return { from, to, billed, settled, unexplained };
}

interface DifferenceNoticeDependencies {
  readonly database: Database<Tables>;
  readonly notifier: AdminNotifier;
  readonly clock: Clock;
}

/**
 * Notifies administrators when a vendor billed more or less than the videos explain: once a day per channel, across all
 * processes.
 */
export class DifferenceNotices {
  readonly #dependencies: DifferenceNoticeDependencies;
  constructor(dependencies: DifferenceNoticeDependencies) {
    this.#dependencies = dependencies;
  }

  async report({ channel, unit, judgement }: VendorAccountState): Promise<void> {
    if (judgement === undefined || judgement.unexplained === 0) return;
    const { database, notifier, clock } = this.#dependencies;
    const { id, name, vendor } = channel;
    const [billed, settled, unexplained] = [judgement.billed, judgement.settled, judgement.unexplained].map(
      (micro) => micro / MICRO,
    );
    const content = {
      en: `Billed: ${billed} ${unit}. Settled: ${settled}. Not explained by videos: ${unexplained}.`,
      'zh-CN': `供应商扣除：${billed} ${unit}；已结算：${settled}；无法由视频解释：${unexplained}。`,
    };
    await database.transaction((trx) =>
      notifier.notifyAdministrators(trx, {
        type: 'system',
        topic: 'billing.difference',
        title: {
          en: `Channel “${name}”: vendor billing doesn’t match the settled amounts`,
          'zh-CN': `渠道“${name}”：供应商账单与结算不符`,
        },
        content,
        targetUrl: '/admin/reconciliation',
        relatedId: id,
        event: {
          type: 'billing.difference',
          subject: `channel:${id}`,
          data: { id, name, vendor, unit, billed, settled, unexplained, since: toSeconds(judgement.from) },
        },
        deduplicationKey: `billing.difference:${id}:${Math.floor(clock.now() / DAY_MS)}`,
      }),
    );
  }
}

/** The state of a vendor account whose vendor reports usage. */
export interface VendorAccountState {
  readonly channel: Channel;
  /** Unix milliseconds. */
  readonly readAt: number | null;
  readonly failedAt: number | null;
  readonly error: string;
  readonly unit: string;
  /** How far the vendor's count may be ahead of or behind the end of a video. */
  readonly skewMs: number;
  /** Undefined until there are two readings, the newer of them older than `skewMs`. */
  readonly judgement: BilledComparison | undefined;
}

/** A stored reading of a vendor's account. */
export type ReconciliationRow = Selectable<Tables['reconciliations']>;

/** A video that succeeded between two readings. */
interface SettledVideo {
  readonly vendor: Tables['tasks']['vendor'];
  /** The vendor's latest response, JSON. */
  readonly data: string;
  readonly quota: number;
}

/** More videos than one account generates in an hour; any beyond this appear as a difference. */
const MAX_VIDEOS = 20_000;

/** SQL of reconciliations. */
export class ReconciliationStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  #newest(trx: Trx, channelId: number): Promise<ReconciliationRow | undefined> {
    return trx
      .selectFrom('reconciliations')
      .selectAll()
      .where('channel_id', '=', channelId)
      .orderBy('to_time', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /** Readings after a time, oldest first. */
  since(time: number): Promise<ReconciliationRow[]> {
    return this.#database.kysely
      .selectFrom('reconciliations')
      .selectAll()
      .where('to_time', '>', time)
      .orderBy('to_time')
      .execute();
  }

  accountReads() {
    return this.#database.kysely.selectFrom('account_reads').selectAll().execute();
  }

  /** @param error null if the account was read */
  async noteRead(channelId: number, time: number, error: string | null): Promise<void> {
    const row = error === null ? { read_at: time, failed_at: null, error: '' } : { failed_at: time, error };
    await this.#database.kysely
      .insertInto('account_reads')
      .values({ channel_id: channelId, read_at: null, ...row })
      .onConflict((conflict) => conflict.column('channel_id').doUpdateSet(row))
      .execute();
  }

  /** The newest reading of every channel. */
  newestOfAll(): Promise<ReconciliationRow[]> {
    const { kysely } = this.#database;
    const last = kysely
      .selectFrom('reconciliations')
      .select((eb) => ['channel_id', eb.fn.max('to_time').as('newest')])
      .groupBy('channel_id');
    return kysely
      .selectFrom('reconciliations')
      .innerJoin(last.as('last'), (join) =>
        join
          .onRef('last.channel_id', '=', 'reconciliations.channel_id')
          .onRef('last.newest', '=', 'reconciliations.to_time'),
      )
      .selectAll('reconciliations')
      .execute();
  }

  /** Videos of the channels that succeeded after `from` and until `to`, with the quota charged for them. */
  settledVideos(channelIds: readonly number[], from: number, to: number, trx: Trx): Promise<SettledVideo[]> {
    return trx
      .selectFrom('tasks')
      .innerJoin('ledger', 'ledger.ref', 'tasks.id')
      .select(['tasks.vendor', 'tasks.data', 'ledger.charged as quota'])
      .where('ledger.kind', '=', 'settle')
      .where('tasks.channel_id', 'in', channelIds)
      .where('tasks.status', '=', 'SUCCESS')
      .where('tasks.finish_time', '>', from)
      .where('tasks.finish_time', '<=', to)
      .limit(MAX_VIDEOS)
      .execute();
  }

  /**
   * Adds the reading that follows the newest one of the channel, so that no span is compared twice: of concurrent
   * readings of an account, by the job or an administrator, the first one stands.
   * @param startedAt when the account was read; a newer reading is returned instead
   */
  addAfterNewest(
    channelId: number,
    startedAt: number,
    follow: (trx: Trx, newest: ReconciliationRow | undefined) => Promise<Insertable<Tables['reconciliations']>>,
  ): Promise<ReconciliationRow> {
    return this.#database.transaction(async (trx) => {
      await trx.selectFrom('channels').select('id').where('id', '=', channelId).forUpdate().execute();
      const newest = await this.#newest(trx, channelId);
      if (newest !== undefined && newest.to_time > startedAt) return newest;
      const row = await follow(trx, newest);
      return trx.insertInto('reconciliations').values(row).returningAll().executeTakeFirstOrThrow();
    });
  }

  /** Newest first. */
  async list(
    channelId: number | undefined,
    offset: number,
    limit: number,
  ): Promise<{
    readonly rows: (ReconciliationRow & { readonly channel_name: string | null })[];
    readonly total: number;
  }> {
    const { kysely } = this.#database;
    const filtered = kysely
      .selectFrom('reconciliations')
      .leftJoin('channels', 'channels.id', 'reconciliations.channel_id')
      .$if(channelId !== undefined, (query) => query.where('reconciliations.channel_id', '=', channelId ?? 0));
    const [rows, counted] = await Promise.all([
      filtered
        .selectAll('reconciliations')
        .select('channels.name as channel_name')
        .orderBy('reconciliations.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute(),
      filtered.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(counted.count) };
  }

  /** UTC days instead of single readings, newest first; settled units of readings without a figure are included. */
  async listDays(
    channelId: number | undefined,
    offset: number,
    limit: number,
  ): Promise<{
    readonly rows: (ReconciliationRow & { readonly channel_name: string | null })[];
    readonly total: number;
  }> {
    const { kysely } = this.#database;
    const day = sql<number>`reconciliations.to_time / ${sql.lit(DAY_MS)}`;
    const days = kysely
      .selectFrom('reconciliations')
      .$if(channelId !== undefined, (query) => query.where('channel_id', '=', channelId ?? 0))
      .select(({ fn }) => [
        'channel_id',
        'vendor',
        'unit',
        fn.max('id').as('id'),
        fn.min('from_time').as('from_time'),
        fn.max('to_time').as('to_time'),
        fn.max('counter').as('counter'),
        fn.sum<number>('videos').as('videos'),
        fn.sum<number>('settled_units').as('settled_units'),
        fn.sum<number>('settled_quota').as('settled_quota'),
        fn.sum<number | null>('billed_units').as('billed_units'),
      ])
      .groupBy(['channel_id', 'vendor', 'unit', day]);
    const [rows, counted] = await Promise.all([
      kysely
        .selectFrom(days.as('days'))
        .leftJoin('channels', 'channels.id', 'days.channel_id')
        .selectAll('days')
        .select('channels.name as channel_name')
        .orderBy('days.id', 'desc')
        .offset(offset)
        .limit(limit)
        .execute(),
      kysely
        .selectFrom(days.as('days'))
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow(),
    ]);
    // PostgreSQL sums bigints to a numeric, which arrives as a string.
    const whole = rows.map((row) => ({
      ...row,
      videos: Number(row.videos),
      settled_units: Number(row.settled_units),
      settled_quota: Number(row.settled_quota),
      billed_units: row.billed_units === null ? null : Number(row.billed_units),
    }));
    return { rows: whole, total: Number(counted.count) };
  }

  /** @returns the number of deleted rows */
  deleteBefore(before: number, limit: number): Promise<number> {
    const old = { table: 'reconciliations', key: 'id', time: 'to_time', keysAscendWithTime: true } as const;
    return deleteOldRows(this.#database.kysely, old, before, limit);
  }
}
