import { setTimeout as pause } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { IMPORTED_USAGE_TOKEN } from '../../contract/ledger.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { EventWriter, NewEvent } from '../event-log/event-log.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { readOneState, waitForOlderTransactions, wasChanged } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { dayOf } from './ledger.ts';
import type { LedgerCompaction } from './ledger-compaction.ts';

/** Result of the last audits, whichever process ran them. */
interface LedgerAuditResult {
  /** Whether both the last audit and the last full audit found nothing. */
  readonly ok: boolean;
  /** Unix milliseconds; 0 before the first audit. */
  readonly finishedAt: number;
  readonly fullFinishedAt: number;
  readonly findings: readonly LedgerAuditFinding[];
}

interface LedgerAuditServiceDependencies {
  readonly store: LedgerCheckpointStore;
  readonly compaction: LedgerCompaction;
  /** Notifies administrators of a mismatch. */
  readonly events: EventWriter;
  readonly clock: Clock;
  readonly log: Log;
}

const INTERVAL_MS = 300_000;
/** While the ledger is inconsistent, full audits run more often, so that a correction shows sooner. */
const FULL_INTERVAL_WHEN_WRONG_MS = HOUR_MS;
/** Entries and wallets per statement: a few milliseconds, for which only SQLite's own process waits. */
const ENTRIES_PER_STEP = 2_000;
const WALLETS_PER_STEP = 500;
const PAUSE_MS = 2;
/** Transactions of the service end well within this time, even when their process is frozen. */
const OLDER_TRANSACTIONS_MS = 15_000;
const MAX_TOUCHED = 10_000;
const MAX_FINDINGS = 100;
const NOT_AUDITED: LedgerAuditResult = { ok: true, finishedAt: 0, fullFinishedAt: 0, findings: [] };

/**
 * Audits the ledger while the service runs, in short statements that each see one state. The incremental audit reads
 * the entries since the last one and compares the wallets of their accounts; the full audit reads every entry again and
 * compares every wallet.
 */
export class LedgerAuditService {
  readonly #store: LedgerCheckpointStore;
  readonly #compaction: LedgerCompaction;
  readonly #events: EventWriter;
  readonly #clock: Clock;
  readonly #log: Log;
  #last: LedgerAuditResult | undefined;

  constructor({ store, compaction, events, clock, log }: LedgerAuditServiceDependencies) {
    this.#store = store;
    this.#compaction = compaction;
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
  }

  /** The result known to this process since the last `refresh`; undefined before the first audit of the database. */
  get lastResult(): LedgerAuditResult | undefined {
    return this.#last;
  }

  /** Reads the latest audit results of all processes. */
  async refresh(): Promise<LedgerAuditResult | undefined> {
    const audits = await this.#store.audits();
    if (audits.length > 0) this.#last = toResult(audits);
    return this.#last;
  }

  /**
   * Audits new entries every five minutes and the entire ledger daily, then combines entries older than their
   * retention.
   */
  get job(): ScheduledJob {
    return {
      name: 'ledger',
      intervalMs: INTERVAL_MS,
      run: async (signal) => {
        await this.run((await this.#isFullDue()) ? 'full' : 'incremental', signal);
        await this.#compaction.compact(signal);
      },
    };
  }

  /**
   * Runs an audit now.
   * @returns undefined when it was interrupted, or another process is auditing or has just audited everything
   */
  async run(kind: StoredAudit['kind'], signal?: AbortSignal): Promise<LedgerAuditResult | undefined> {
    const startedAt = performance.now();
    const findings = await (kind === 'full' ? this.#auditAll(signal) : this.#auditNew(signal));
    return findings && this.#save(kind, findings, performance.now() - startedAt);
  }

  /** Audits new entries and compares every wallet, on request and independently of the job. */
  async check(): Promise<LedgerAuditResult> {
    const startedAt = performance.now();
    const findings = await this.#auditNew(undefined, 0);
    const result = await (findings === undefined
      ? this.refresh()
      : this.#save('incremental', findings, performance.now() - startedAt));
    return result ?? NOT_AUDITED;
  }

  async #save(
    kind: StoredAudit['kind'],
    findings: readonly LedgerAuditFinding[],
    durationMs: number,
  ): Promise<LedgerAuditResult | undefined> {
    if (findings.length > 0)
      this.#log.error({ kind, findings: findings.slice(0, 10) }, 'the ledger audit found a mismatch');
    const finishedAt = this.#clock.now();
    const shown = findings.slice(0, MAX_FINDINGS);
    await this.#store.database.transaction(async (trx) => {
      await this.#store.saveAudit(trx, { kind, finishedAt, durationMs: Math.round(durationMs), findings: shown });
      if (findings.length > 0) await this.#events.write(trx, toLedgerMismatchEvent(findings, dayOf(finishedAt)));
    });
    return this.refresh();
  }

  async #isFullDue(): Promise<boolean> {
    const audits = await this.#store.audits();
    const full = audits.find(({ kind }) => kind === 'full');
    const isWrong = audits.some(({ findings }) => findings.length > 0);
    return this.#clock.now() - (full?.finishedAt ?? 0) >= (isWrong ? FULL_INTERVAL_WHEN_WRONG_MS : DAY_MS);
  }

  async #auditNew(
    signal: AbortSignal | undefined,
    maxTouched = MAX_TOUCHED,
  ): Promise<LedgerAuditFinding[] | undefined> {
    const touched = new Set<number>();
    const findings = await this.#advance(await this.#store.current(), touched, signal);
    if (findings === undefined) return undefined;
    const { generation } = await this.#store.current();
    const all =
      maxTouched === 0 || touched.size > maxTouched
        ? await this.#auditAccounts(generation, findings, signal)
        : await this.#auditTouched(generation, [...touched], findings, signal);
    // A full audit that has ended meanwhile deletes the sums that the wallets were compared with.
    return (await this.#store.current()).generation === generation ? all : undefined;
  }

  async #auditTouched(
    generation: number,
    ids: readonly number[],
    before: readonly LedgerAuditFinding[],
    signal: AbortSignal | undefined,
  ): Promise<LedgerAuditFinding[] | undefined> {
    const { database } = this.#store;
    const findings = [...before];
    for (let start = 0; start < ids.length; start += WALLETS_PER_STEP) {
      if (signal?.aborted) return undefined;
      const scope = { ids: ids.slice(start, start + WALLETS_PER_STEP) };
      findings.push(...(await auditWallets(database.kysely, scope, generation)));
      await pause(PAUSE_MS);
    }
    return [...findings, ...(await auditReservations(database.kysely))];
  }

  async #auditAll(signal: AbortSignal | undefined): Promise<LedgerAuditFinding[] | undefined> {
    const begun = await this.#store.beginGeneration();
    const findings = await this.#advance(begun, new Set(), signal);
    if (findings === undefined) return undefined;
    const all = await this.#auditAccounts(begun.generation, findings, signal);
    if (all !== undefined) await this.#store.makeCurrent(begun.generation);
    return all;
  }

  /** Advances the checkpoints of a generation, checking each entry in between. */
  async #advance(
    begun: Generation,
    touched: Set<number>,
    signal: AbortSignal | undefined,
  ): Promise<LedgerAuditFinding[] | undefined> {
    const { database } = this.#store;
    const end = await this.#store.newestEntry();
    const findings: LedgerAuditFinding[] = [];
    // A lower id may belong to a transaction that is not committed yet.
    if (!(await waitForOlderTransactions(database.kysely, OLDER_TRANSACTIONS_MS))) return findings;
    let { position } = begun;
    while (position < end) {
      if (signal?.aborted) return undefined;
      const upTo = Math.min(end, position + ENTRIES_PER_STEP);
      const accounts = await this.#store.advance({ generation: begun.generation, position }, upTo);
      if (accounts === undefined) return undefined;
      for (const account of accounts) touched.add(account);
      findings.push(...(await auditEntries(database.kysely, position, upTo)));
      position = upTo;
      await pause(PAUSE_MS);
    }
    return findings;
  }

  async #auditAccounts(
    generation: number,
    before: readonly LedgerAuditFinding[],
    signal: AbortSignal | undefined,
  ): Promise<LedgerAuditFinding[] | undefined> {
    const { kysely } = this.#store.database;
    const findings = [...before];
    for (let after = -1; ; ) {
      if (signal?.aborted) return undefined;
      const last = await this.#store.endOfBatch(after, WALLETS_PER_STEP);
      // The last step also covers accounts without a wallet.
      const scope = { after, upTo: last ?? Number.MAX_SAFE_INTEGER };
      findings.push(
        ...(await auditWallets(kysely, scope, generation)),
        ...(await auditStrayEntries(kysely, scope, generation)),
      );
      if (last === undefined) return [...findings, ...(await auditReservations(kysely))];
      after = last;
      await pause(PAUSE_MS);
    }
  }
}

function toResult(audits: readonly StoredAudit[]): LedgerAuditResult {
  const findings = audits.flatMap((audit) => audit.findings);
  return {
    ok: findings.length === 0,
    finishedAt: Math.max(...audits.map(({ finishedAt }) => finishedAt)),
    fullFinishedAt: audits.find(({ kind }) => kind === 'full')?.finishedAt ?? 0,
    findings: [...new Map(findings.map((each) => [`${each.rule} ${each.at}`, each])).values()],
  };
}

/** An inconsistency in the ledger. */
export interface LedgerAuditFinding {
  /** The rule that is broken. */
  readonly rule: string;
  /** The account, token or reference that breaks the rule. */
  readonly at: string;
  readonly expected: number;
  readonly found: number;
}

/** Accounts to audit: ids above `after` up to and including `upTo`, or a list of ids. */
type AccountScope = { readonly after: number; readonly upTo: number } | { readonly ids: readonly number[] };

const MAX_FOUND_ROWS = 1000;
const EVERYBODY: AccountScope = { after: -1, upTo: Number.MAX_SAFE_INTEGER };

/**
 * Audits the entire ledger in one state of the database: every balance is the sum of its entries and not below zero,
 * every usage total the sum of the charged amounts, every reservation open or closed once. Returns at most a thousand
 * findings per rule; none if the ledger is consistent. For tools and tests: on PostgreSQL it needs a statement timeout
 * that fits the size of the ledger, and on SQLite writers wait. The service uses `LedgerAuditService`, which applies
 * the same rules step by step.
 */
export async function auditLedger(database: Database<Tables>): Promise<LedgerAuditFinding[]> {
  return database.transaction(async (trx) => {
    await readOneState(trx);
    return [
      ...(await auditWallets(trx, EVERYBODY, undefined)),
      ...(await auditStrayEntries(trx, EVERYBODY, undefined)),
      ...(await auditEntries(trx, 0, Number.MAX_SAFE_INTEGER)),
      ...(await auditReservations(trx)),
    ];
  });
}

/** The SQL value an entry adds to each of an account's sums. */
const ENTRY_VALUES = {
  amount: sql<number>`l.amount`,
  charged: sql<number>`l.charged`,
  settled: sql<number>`case when l.kind = 'settle' then 1 else l.settlements end`,
} as const;

/** The sum of all entries of the account `w`; with a generation, its checkpoint plus the entries after it. */
function sumOfEntries(what: keyof typeof ENTRY_VALUES, generation: number | undefined): RawBuilder<number> {
  const own = sql`select sum(${ENTRY_VALUES[what]}) from ledger l where l.user_id = w.user_id`;
  if (generation === undefined) return sql<number>`cast(coalesce((${own}), 0) as bigint)`;
  return sql<number>`cast(
    coalesce((select c.${sql.ref(what)} from ledger_checkpoints c
      where c.generation = ${generation} and c.user_id = w.user_id), 0)
    + coalesce((${own} and l.id > (select position from ledger_generations where generation = ${generation})), 0)
    as bigint)`;
}

const within = (scope: AccountScope, column: RawBuilder<unknown>): RawBuilder<boolean> =>
  'ids' in scope
    ? sql<boolean>`${column} in (${sql.join(scope.ids)})`
    : sql<boolean>`${column} > ${scope.after} and ${column} <= ${scope.upTo}`;

interface WalletFigures {
  readonly user_id: number;
  readonly balance: number;
  readonly used: number;
  readonly requests: number;
  readonly amount: number;
  readonly charged: number;
  readonly settled: number;
  readonly daily: number;
}

/** The rules for a wallet, each with the expected and the found value. */
const WALLET_RULES: readonly { rule: string; expected(w: WalletFigures): number; found(w: WalletFigures): number }[] = [
  { rule: 'balance is the sum of its entries', expected: ({ amount }) => amount, found: ({ balance }) => balance },
  {
    rule: 'balance is not below zero',
    expected: ({ balance }) => Math.max(0, balance),
    found: ({ balance }) => balance,
  },
  { rule: 'used is the sum of what was charged', expected: ({ charged }) => charged, found: ({ used }) => used },
  {
    rule: 'requests is the number of settlements',
    expected: ({ settled }) => settled,
    found: ({ requests }) => requests,
  },
  { rule: 'daily use is the sum of what was charged', expected: ({ used }) => used, found: ({ daily }) => daily },
];

/** Compares wallets with their entries in one statement, and so in one state. */
async function auditWallets(
  executor: Executor,
  scope: AccountScope,
  generation: number | undefined,
): Promise<LedgerAuditFinding[]> {
  const { rows } = await sql<WalletFigures>`
    select * from (
      select w.user_id, w.balance, w.used, w.requests,
        ${sumOfEntries('amount', generation)} as amount,
        ${sumOfEntries('charged', generation)} as charged,
        ${sumOfEntries('settled', generation)} as settled,
        cast(coalesce((select sum(d.quota) from usage_daily d
          where d.user_id = w.user_id and d.token_id <> ${sql.lit(IMPORTED_USAGE_TOKEN)}), 0) as bigint) as daily
      from wallets w where ${within(scope, sql`w.user_id`)}) figures
    where balance <> amount or balance < 0 or used <> charged or requests <> settled or daily <> used
    order by user_id limit ${sql.lit(MAX_FOUND_ROWS)}`.execute(executor);
  return WALLET_RULES.flatMap(({ rule, expected, found }) =>
    rows
      .filter((row) => expected(row) !== found(row))
      .map((row) => ({ rule, at: String(row.user_id), expected: expected(row), found: found(row) })),
  );
}

/** Accounts with entries but no wallet. */
function auditStrayEntries(
  executor: Executor,
  scope: AccountScope,
  generation: number | undefined,
): Promise<LedgerAuditFinding[]> {
  const accounts =
    generation === undefined
      ? sql`select distinct user_id from ledger`
      : sql`select user_id from ledger_checkpoints where generation = ${generation}`;
  return findingsOf(
    executor,
    'entries belong to a wallet',
    sql`select e.user_id as at, 1 as expected, 0 as found from (${accounts}) e
      where ${within(scope, sql`e.user_id`)} and not exists (select 1 from wallets w where w.user_id = e.user_id)`,
  );
}

/** Reservations and their settlements, by the entries with an id above `after` up to and including `upTo`. */
async function auditEntries(executor: Executor, after: number, upTo: number): Promise<LedgerAuditFinding[]> {
  const ends = sql`
    (select count(*) from reservations h where h.ref = r.ref)
    + (select count(*) from ledger e where e.ref = r.ref and e.kind in ('settle', 'refund'))`;
  return [
    ...(await findingsOf(
      executor,
      'a reservation is open or ended once',
      sql`select r.ref as at, 1 as expected, ${ends} as found from ledger r
        where r.id > ${after} and r.id <= ${upTo} and r.kind = 'reserve' and 1 <> ${ends}`,
    )),
    ...(await findingsOf(
      executor,
      'what was taken is charged or given back',
      sql`select e.ref as at, -(r.amount + r.plan_amount) as expected, e.charged + e.amount + e.plan_amount as found
        from ledger e join ledger r on r.ref = e.ref and r.kind = 'reserve'
        where e.id > ${after} and e.id <= ${upTo} and e.kind in ('settle', 'refund')
          and -(r.amount + r.plan_amount) <> e.charged + e.amount + e.plan_amount`,
    )),
  ];
}

/** Open reservations, of which there are few at any time. */
async function auditReservations(executor: Executor): Promise<LedgerAuditFinding[]> {
  return [
    ...(await findingsOf(
      executor,
      'an open reservation holds what was taken',
      sql`select h.ref as at, h.amount as expected, cast(coalesce(-(l.amount + l.plan_amount), 0) as bigint) as found
        from reservations h left join ledger l on l.ref = h.ref and l.kind = 'reserve'
        where l.id is null or h.amount <> -(l.amount + l.plan_amount) or h.plan_amount <> -l.plan_amount`,
    )),
    ...(await findingsOf(
      executor,
      'a token counts its open reservations',
      sql`select t.token_id as at, cast(coalesce(h.total, 0) as bigint) as expected, t.used as found
        from token_limits t left join (select token_id, sum(amount) as total from reservations group by token_id) h
          on h.token_id = t.token_id
        where t.used < coalesce(h.total, 0)`,
    )),
  ];
}

async function findingsOf(executor: Executor, rule: string, query: RawBuilder<unknown>): Promise<LedgerAuditFinding[]> {
  interface Row {
    readonly at: string | number;
    readonly expected: number;
    readonly found: number;
  }
  const { rows } = await sql<Row>`${query} limit ${sql.lit(MAX_FOUND_ROWS)}`.execute(executor);
  return rows.map((row) => ({ rule, at: String(row.at), expected: Number(row.expected), found: Number(row.found) }));
}

/** One pass over the ledger: the sums of each account up to an entry. */
interface Generation {
  readonly generation: number;
  /** Id of the last entry included in the sums. */
  readonly position: number;
}

interface StoredAudit {
  readonly kind: 'incremental' | 'full';
  readonly finishedAt: number;
  readonly durationMs: number;
  readonly findings: readonly LedgerAuditFinding[];
}

const FIRST_GENERATION = 1;
const DELETE_BATCH = 1_000;

/** SQL of the checkpoints, which let an audit read each entry once, and of the audit results. */
export class LedgerCheckpointStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  get database(): Database<Tables> {
    return this.#database;
  }

  /** The generation that wallets are compared with; created here if there is none. */
  async current(executor: Executor = this.#database.kysely): Promise<Generation> {
    const find = () =>
      executor.selectFrom('ledger_generations').select(['generation', 'position']).where('is_current', '=', 1);
    const found = await find().executeTakeFirst();
    if (found !== undefined) return found;
    await executor
      .insertInto('ledger_generations')
      .values({ generation: FIRST_GENERATION, position: 0, is_current: 1 })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return find().executeTakeFirstOrThrow();
  }

  /** Starts a new pass, and removes the remains of an interrupted one. */
  async beginGeneration(): Promise<Generation> {
    const { generation: current } = await this.current();
    await this.#deleteCheckpoints((generation) => generation !== current);
    const generation = current + 1;
    await this.#database.kysely
      .insertInto('ledger_generations')
      .values({ generation, position: 0, is_current: 0 })
      .execute();
    return { generation, position: 0 };
  }

  /** Makes this the generation that wallets are compared with, and removes the others. */
  async makeCurrent(generation: number): Promise<void> {
    await this.#database.transaction(async (trx) => {
      await trx.updateTable('ledger_generations').set({ is_current: 0 }).where('is_current', '=', 1).execute();
      await trx.updateTable('ledger_generations').set({ is_current: 1 }).where('generation', '=', generation).execute();
    });
    await this.#deleteCheckpoints((each) => each !== generation);
  }

  /** The highest id among the visible entries. */
  async newestEntry(): Promise<number> {
    const row = await this.#database.kysely
      .selectFrom('ledger')
      .select(({ fn }) => fn.coalesce(fn.max('id'), sql<number>`0`).as('id'))
      .executeTakeFirstOrThrow();
    return Number(row.id);
  }

  /**
   * Adds the entries with an id above the generation's position, up to and including `upTo`, to its checkpoints.
   * @returns the accounts they belong to; undefined when another process has moved the position meanwhile
   */
  async advance({ generation, position }: Generation, upTo: number): Promise<readonly number[] | undefined> {
    return this.#database.transaction(async (trx) => {
      const moved = await trx
        .updateTable('ledger_generations')
        .set({ position: upTo })
        .where('generation', '=', generation)
        .where('position', '=', position)
        .executeTakeFirst();
      if (!wasChanged(moved)) return undefined;
      const { rows } = await sql<{ user_id: number }>`
        insert into ledger_checkpoints (generation, user_id, amount, charged, settled)
        select cast(${generation} as bigint), user_id, sum(amount), sum(charged),
          sum(case when kind = 'settle' then 1 else settlements end)
        from ledger where id > ${position} and id <= ${upTo} group by user_id
        on conflict (generation, user_id) do update set amount = ledger_checkpoints.amount + excluded.amount,
          charged = ledger_checkpoints.charged + excluded.charged, settled = ledger_checkpoints.settled + excluded.settled
        returning user_id`.execute(trx);
      return rows.map((row) => Number(row.user_id));
    });
  }

  /** The account at the end of a batch of `size` accounts with ids above `after`; undefined after the last one. */
  async endOfBatch(after: number, size: number): Promise<number | undefined> {
    const rows = await this.#database.kysely
      .selectFrom('wallets')
      .select('user_id')
      .where('user_id', '>', after)
      .orderBy('user_id')
      .limit(size)
      .execute();
    return rows.at(-1)?.user_id;
  }

  async saveAudit(trx: Trx, { kind, finishedAt, durationMs, findings }: StoredAudit): Promise<void> {
    const values = { finished_at: finishedAt, duration_ms: durationMs, findings: JSON.stringify(findings) };
    await trx
      .insertInto('ledger_audits')
      .values({ kind, ...values })
      .onConflict((conflict) => conflict.column('kind').doUpdateSet(values))
      .execute();
  }

  async audits(): Promise<StoredAudit[]> {
    const rows = await this.#database.kysely.selectFrom('ledger_audits').selectAll().execute();
    return rows.map((row) => ({
      kind: row.kind,
      finishedAt: row.finished_at,
      durationMs: row.duration_ms,
      findings: JSON.parse(row.findings),
    }));
  }

  async #deleteCheckpoints(isOld: (generation: number) => boolean): Promise<void> {
    const { kysely } = this.#database;
    const all = await kysely.selectFrom('ledger_generations').select('generation').execute();
    for (const { generation } of all.filter((each) => isOld(each.generation))) {
      for (;;) {
        const some = kysely
          .selectFrom('ledger_checkpoints')
          .select('user_id')
          .where('generation', '=', generation)
          .limit(DELETE_BATCH);
        const result = await kysely
          .deleteFrom('ledger_checkpoints')
          .where('generation', '=', generation)
          .where('user_id', 'in', some)
          .executeTakeFirst();
        if (Number(result.numDeletedRows) < DELETE_BATCH) break;
      }
      await kysely.deleteFrom('ledger_generations').where('generation', '=', generation).execute();
    }
  }
}

/**
 * Event for an audit that found inconsistencies; reported once a day.
 * @param day days since 1970-01-01 UTC
 */
const toLedgerMismatchEvent = (findings: readonly LedgerAuditFinding[], day: number): NewEvent => ({
  type: 'ledger.mismatch',
  subject: 'ledger',
  data: { findings: findings.length, rules: [...new Set(findings.map(({ rule }) => rule))] },
  deduplicationKey: `day:${day}`,
});
