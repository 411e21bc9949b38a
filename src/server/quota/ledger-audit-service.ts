import { setTimeout as pause } from 'node:timers/promises';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { EventWriter } from '../event-log/event-writer.ts';
import type { Clock } from '../platform/clock.ts';
import { waitForOlderTransactions } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import {
  auditEntries,
  auditReservations,
  auditStrayEntries,
  auditWallets,
  type LedgerAuditFinding,
} from './ledger-audit-store.ts';
import type { Generation, LedgerCheckpointStore, StoredAudit } from './ledger-checkpoint-store.ts';
import type { LedgerCompaction } from './ledger-compaction.ts';
import { toLedgerMismatchEvent } from './ledger-mismatch-event.ts';
import { dayOf } from './utc-days.ts';

/** What the audits found last, whichever process made them. */
export interface LedgerAuditResult {
  /** Whether neither the last audit nor the last full one found anything. */
  readonly ok: boolean;
  /** Unix milliseconds; 0 before the first one. */
  readonly finishedAt: number;
  readonly fullFinishedAt: number;
  readonly findings: readonly LedgerAuditFinding[];
}

export interface LedgerAuditServiceDependencies {
  readonly store: LedgerCheckpointStore;
  readonly compaction: LedgerCompaction;
  /** Administrators are told of a mismatch. */
  readonly events: EventWriter;
  readonly clock: Clock;
  readonly log: Log;
}

const INTERVAL_MS = 300_000;
/** While something is wrong a full audit says sooner whether it still is. */
const FULL_INTERVAL_WHEN_WRONG_MS = HOUR_MS;
/** Entries and wallets of one statement: some milliseconds, for which SQLite's process and nobody else waits. */
const ENTRIES_PER_STEP = 2_000;
const WALLETS_PER_STEP = 500;
const PAUSE_MS = 2;
/** Transactions of the service end long before, even when their process is frozen. */
const OLDER_TRANSACTIONS_MS = 15_000;
const MAX_TOUCHED = 10_000;
const MAX_FINDINGS = 100;
const NOT_AUDITED: LedgerAuditResult = { ok: true, finishedAt: 0, fullFinishedAt: 0, findings: [] };

/**
 * Audits the ledger beside the service, in short statements that each see one state. The incremental audit reads the entries
 * since the last one and compares the wallets of their accounts; the full one reads every entry anew and compares every wallet.
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

  /** The result as this process knows it since the last `refresh`; undefined before the first audit of the database. */
  get lastResult(): LedgerAuditResult | undefined {
    return this.#last;
  }

  /** Reads what the audits of all processes found. */
  async refresh(): Promise<LedgerAuditResult | undefined> {
    const audits = await this.#store.audits();
    if (audits.length > 0) this.#last = toResult(audits);
    return this.#last;
  }

  /** Every five minutes what is new, every day all of it; then entries older than their retention are combined. */
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

  /** Audits now. @returns undefined when it was interrupted, or another process audits at the same time */
  async run(kind: StoredAudit['kind'], signal?: AbortSignal): Promise<LedgerAuditResult | undefined> {
    const startedAt = performance.now();
    const findings = await (kind === 'full' ? this.#auditAll(signal) : this.#auditNew(signal));
    return findings && this.#save(kind, findings, performance.now() - startedAt);
  }

  /** Audits what is new and compares every wallet, beside the job; for somebody who asks. */
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
    const { database } = this.#store;
    const touched = new Set<number>();
    const findings = await this.#advance(await this.#store.current(), touched, signal);
    if (findings === undefined) return undefined;
    const { generation } = await this.#store.current();
    if (maxTouched === 0 || touched.size > maxTouched) return this.#auditAccounts(generation, findings, signal);
    const ids = [...touched];
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

  /** Brings the checkpoints of a generation up to date and checks the entries it passes. */
  async #advance(
    begun: Generation,
    touched: Set<number>,
    signal: AbortSignal | undefined,
  ): Promise<LedgerAuditFinding[] | undefined> {
    const { database } = this.#store;
    const end = await this.#store.newestEntry();
    const findings: LedgerAuditFinding[] = [];
    // An entry with a lower id may belong to a transaction that is not committed yet.
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
      // The last step also covers accounts that have no wallet.
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
