import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ImportKind } from '../src/server/imports/tables.ts';
import type { Clock } from '../src/server/platform/clock.ts';
import { dryRunVisitor } from './dry-run.ts';
import type { AccountImportStore } from './import-store.ts';
import type { ImportTarget } from './import-target.ts';
import { readPrices } from './mapping/models.ts';
import { readOptions } from './mapping/values.ts';
import { ModelImportStore, PlanImportStore } from './model-store.ts';
import { describeUrl, openSource } from './open-source.ts';
import { readAndMapSource } from './reading.ts';
import { buildReport, type ImportReport } from './report.ts';
import { detectProgram, type ProgramName, type SourceDatabase, type SourceSchema } from './source.ts';
import type { ImportSummary } from './summary.ts';
import { TaskPaymentImportStore } from './task-store.ts';
import { type UndoReport, type UndoStore, undoImport } from './undo.ts';
import { reportUnimported } from './unimported.ts';
import { type Discrepancy, Verifier, type VerifyStore } from './verify.ts';
import { ImportWriter } from './writer.ts';

/** Progress of a pass through a table of the source. */
interface ImportProgress {
  readonly phase: 'reading' | 'importing' | 'checking';
  readonly table: string;
  readonly rows: number;
  readonly total: number;
}

/** Dependencies of {@link Importer}. */
export interface ImporterDependencies {
  readonly store: AccountImportStore;
  readonly verifyStore: VerifyStore;
  readonly undo: UndoStore;
  readonly target: ImportTarget;
  readonly clock: Clock;
  /** Inconsistencies of the ledger as a whole, one line each. */
  auditLedger(): Promise<readonly string[]>;
  onProgress(progress: ImportProgress): void;
  /** Called before each commit of an apply. */
  readonly onPage?: (kind: ImportKind) => void;
}

/** The source and options of an import. */
export interface ImportRequest {
  readonly program: ProgramName;
  /** `sqlite:PATH`, `postgres://…` or `mysql://…` */
  readonly from: string;
  /** How long the source is watched for changes before the import, in milliseconds. */
  readonly watchMs: number;
  /** Whether administrators of the source stay administrators; otherwise every account becomes an ordinary user. */
  readonly keepRoles?: boolean;
}

interface OpenedSource {
  readonly source: SourceDatabase;
  readonly schema: SourceSchema;
  /** Hashes by which an earlier import of the source is recognized; the first one is stored with a new import. */
  readonly identities: readonly [string, ...string[]];
  readonly fingerprint: string;
}

/** Imports the accounts, keys, channels, prices and codes of another program. The source is only ever read. */
export class Importer {
  readonly #dependencies: ImporterDependencies;
  constructor(dependencies: ImporterDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reports what an import would do, without writing. */
  dryRun(request: ImportRequest): Promise<ImportReport> {
    const { store, target } = this.#dependencies;
    return this.#withSource(request, async (opened) => {
      const found = await this.#read(request, opened, dryRunVisitor(store, target, opened.identities), 'reading');
      return this.#report(request, opened, 'dry-run', found);
    });
  }

  /** Imports, or resumes an interrupted import, and verifies the result. @throws Error while the source changes */
  async apply(request: ImportRequest): Promise<ImportReport> {
    const { store } = this.#dependencies;
    const before = await this.#withSource(request, async ({ fingerprint }) => fingerprint);
    await pause(request.watchMs);
    return this.#withSource(request, async (opened) => {
      if (opened.fingerprint !== before) throw new SourceChangedError('The source changes while it is read');
      const known = await store.findImport(opened.identities);
      if (known !== undefined && known.fingerprint !== opened.fingerprint)
        throw new SourceChangedError(
          known.state === 'applied'
            ? 'The source has changed since it was imported'
            : 'The source has changed since its import began',
        );
      if (known?.state !== 'applied') await this.#write(request, opened, known?.id);
      return this.#prove(request, opened, 'apply');
    });
  }

  /** Compares the source with the imported data. */
  verify(request: ImportRequest): Promise<ImportReport> {
    return this.#withSource(request, (opened) => this.#prove(request, opened, 'verify'));
  }

  /** Reverts an import, except for objects that were used since. */
  async undoAll(request: ImportRequest): Promise<UndoReport> {
    const { store, undo, clock } = this.#dependencies;
    const identities = await this.#withSource(request, async (opened) => opened.identities);
    const known = await store.findImport(identities);
    if (known === undefined) throw new Error('Nothing of this source was imported here.');
    const report = await undoImport({
      store: undo,
      catalog: new ModelImportStore(),
      groups: new PlanImportStore(),
      tasks: new TaskPaymentImportStore(),
      importId: known.id,
      now: clock.now(),
    });
    await store.setState(known.id, 'undone', clock.now());
    return report;
  }

  async #write(request: ImportRequest, opened: OpenedSource, knownId: number | undefined): Promise<void> {
    const { store, target, clock, onPage } = this.#dependencies;
    const { schema, identities, fingerprint } = opened;
    const [identity] = identities;
    const importId =
      knownId ?? (await store.addImport({ program: schema.program, identity, fingerprint, started_at: clock.now() }));
    const [catalog, groups, tasks] = [new ModelImportStore(), new PlanImportStore(), new TaskPaymentImportStore()];
    const parts = { store, catalog, groups, tasks, target, importId, identities };
    await this.#read(request, opened, new ImportWriter({ ...parts, now: clock.now(), onPage }), 'importing');
    // Reads through a new connection, because this one sees the snapshot of its start.
    const after = await this.#withSource(request, async (again) => again.fingerprint);
    if (after !== fingerprint) throw new SourceChangedError('The source changed while it was imported');
    await store.setState(importId, 'applied', clock.now());
  }

  async #prove(request: ImportRequest, opened: OpenedSource, mode: 'apply' | 'verify'): Promise<ImportReport> {
    const { store, verifyStore, auditLedger } = this.#dependencies;
    const known = await store.findImport(opened.identities);
    if (known === undefined) throw new Error('Nothing of this source was imported here.');
    const verifier = new Verifier({
      store,
      verifyStore,
      catalog: new ModelImportStore(),
      groups: new PlanImportStore(),
      tasks: new TaskPaymentImportStore(),
      importId: known.id,
    });
    const found = await this.#read(request, opened, verifier, 'checking');
    const { balance, granted, debts } = found.sums;
    const total = await verifyStore.grantTotal(known.id);
    const discrepancies: Discrepancy[] = [...verifier.discrepancies];
    if (total.sum !== granted || balance !== granted - debts)
      discrepancies.push({
        kind: 'total',
        source: 'balances',
        text: `${balance} before should be ${granted} here less debts of ${debts}; ${total.sum} came over`,
      });
    for (const text of await auditLedger()) discrepancies.push({ kind: 'ledger', source: 'audit', text });
    if (known.state === 'applying')
      discrepancies.push({ kind: 'total', source: 'import', text: 'it has not ended: run it again with --apply' });
    return this.#report(request, opened, mode, found, { discrepancies, changes: verifier.changes });
  }

  async #read(
    { keepRoles = false }: ImportRequest,
    { source, schema }: OpenedSource,
    visitor: Parameters<typeof readAndMapSource>[1],
    phase: ImportProgress['phase'],
  ): Promise<ImportSummary> {
    const { target, clock, onProgress } = this.#dependencies;
    const { quotaPerUnit } = readPrices(await readOptions(source), schema.program);
    if (quotaPerUnit !== target.quotaPerUnit)
      throw new Error(
        `There, ${quotaPerUnit} make one unit of currency, and here ${target.quotaPerUnit}. Set QUOTA_PER_UNIT to ${quotaPerUnit} first.`,
      );
    const context = {
      source,
      schema,
      target,
      now: clock.now(),
      keepRoles,
      onProgress: (table: string, rows: number, total: number) => onProgress({ phase, table, rows, total }),
    };
    const found = await readAndMapSource(context, visitor);
    await reportUnimported(source, schema, found);
    return found;
  }

  #report(
    { from }: ImportRequest,
    { source, schema }: OpenedSource,
    mode: ImportReport['mode'],
    found: ImportSummary,
    proof?: ImportReport['proof'],
  ): ImportReport {
    const madeAt = new Date(this.#dependencies.clock.now()).toISOString();
    return buildReport({ mode, madeAt, source: describeUrl(from), engine: source.engine, ...schema }, found, proof);
  }

  async #withSource<R>({ from, program }: ImportRequest, work: (opened: OpenedSource) => Promise<R>): Promise<R> {
    const source = await openSource(from);
    try {
      const schema = detectProgram(source);
      if (schema.program !== program)
        throw new Error(`The source is a database of ${schema.program}, not of ${program}.`);
      const [fingerprint, identities] = [await changeMarkerOf(source), await identitiesOf(source)];
      return await work({ source, schema, identities, fingerprint });
    } finally {
      await source.close();
    }
  }
}

/** The source is still in use, or was used after its import started. */
class SourceChangedError extends Error {
  constructor(what: string) {
    super(`${what}. Stop the old service (it writes what it holds in memory when it stops), or import a copy.`);
    this.name = 'SourceChangedError';
  }
}

/** Values that change with every use of a source: its money, its videos and the newest row of its log. */
const figuresOf = (sum: (column: string) => string) =>
  [
    ['users', `count(*) as n, ${sum('quota')}, ${sum('used_quota')}, max([id]) as m`],
    ['tokens', `count(*) as n, ${sum('used_quota')}, ${sum('remain_quota')}, max([id]) as m`],
    ['redemptions', `count(*) as n, ${sum('status')}, max([id]) as m`],
    [
      'tasks',
      `count(*) as n, ${sum('quota')}, sum(case when [status] in ('SUCCESS', 'FAILURE') then 1 else 0 end) as e, max([id]) as m`,
    ],
    ['logs', 'max([id]) as m'],
  ] as const;

const sumOf = (column: string): string => `sum([${column}]) as [${column}]`;
/** SQLite's `sum` fails beyond 64 bits, which ten accounts with a practically unlimited balance exceed. */
const sumInParts = (column: string): string =>
  `sum([${column}] / 1000000) as [${column}_millions], sum([${column}] % 1000000) as [${column}_rest]`;

/** Equal for two reads between which nothing was charged, created or used. */
async function changeMarkerOf(source: SourceDatabase): Promise<string> {
  const parts: string[] = [];
  for (const [table, figures] of figuresOf(source.engine === 'sqlite' ? sumInParts : sumOf)) {
    if (!source.tables.has(table)) continue;
    const [row] = await source.query(`select ${figures} from [${table}]`);
    parts.push(
      `${table} ${Object.values(row ?? {})
        .map((value) => String(value ?? 0).replace(/\.0*$/, ''))
        .join(' ')}`,
    );
  }
  return parts.join('; ');
}

/** Accounts whose data identifies a source. */
const MAX_IDENTIFYING = 100;
/** A single account, often a `root` without an invitation code, is alike in many sources. */
const MIN_IDENTIFYING = 2;

/**
 * Hashes shared by a source and its copies on every engine: of ids, names and invitation codes of the first accounts,
 * which never change. The first hash is of all of them; the others are those the source had with fewer accounts, since
 * people may have registered after an import.
 */
async function identitiesOf(source: SourceDatabase): Promise<readonly [string, ...string[]]> {
  const hasCode = source.tables.get('users')?.includes('aff_code') === true;
  const columns = hasCode ? '[id], [username], [aff_code]' : '[id], [username]';
  const rows = await source.query(`select ${columns} from [users] order by [id] limit ${MAX_IDENTIFYING}`);
  const parts = rows.map((row) => [row.id, row.username, row.aff_code].map((value) => (value ?? '').trim()));
  const hashOf = (count: number): string => hash('sha256', JSON.stringify(parts.slice(0, count)));
  const fewer = Array.from({ length: Math.max(0, parts.length - MIN_IDENTIFYING) }, (_, index) =>
    hashOf(parts.length - 1 - index),
  );
  return [hashOf(parts.length), ...fewer];
}
