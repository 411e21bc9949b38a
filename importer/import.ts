import { existsSync } from 'node:fs';
import { CHANNEL_VENDORS, changeChannel } from '../src/contract/channels.ts';
import { formatMessage } from '../src/contract/messages/format-message.ts';
import { VENDORS, type VendorId } from '../src/contract/model-kinds.ts';
import { defined } from '../src/contract/objects.ts';
import { HOUR_MS } from '../src/contract/time-units.ts';
import { twoFactorSecretCell } from '../src/server/accounts/two-factor.ts';
import {
  type CredentialReader,
  changeConnection,
  credentialReader,
  encryptConnection,
  encryptCredentials,
  parseBaseUrl,
  toCredentialList,
} from '../src/server/channels/credentials.ts';
import { CatalogStore } from '../src/server/channels/directory.ts';
import type { ChannelVendor } from '../src/server/channels/tables.ts';
import { maskCode, normalizeCode } from '../src/server/plans/codes.ts';
import { isAppError } from '../src/server/platform/app-error.ts';
import { systemClock } from '../src/server/platform/clock.ts';
import { loadConfig } from '../src/server/platform/config.ts';
import type { Database } from '../src/server/platform/db/database.ts';
import { appliedMigrations } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { validatorFor } from '../src/server/platform/http/schema-validation.ts';
import { assertMasterKey, openMasterKeys } from '../src/server/platform/master-key.ts';
import { toWellFormedText } from '../src/server/platform/text.ts';
import { hashToken } from '../src/server/platform/tokens.ts';
import { createVault, type Vault } from '../src/server/platform/vault.ts';
import { auditLedger } from '../src/server/quota/ledger-audit.ts';
import { migrations, type Tables, type Trx } from '../src/server/tables.ts';
import { VendorRegistry } from '../src/server/vendors/registry.ts';
import { importedEndedTaskSeq, NO_TOKEN } from '../src/server/video/tables.ts';
import { newTaskRow } from '../src/server/video/task-store.ts';
import { AccountImportStore } from './import-store.ts';
import type { ImportTarget, NewEndedTask, NewImportedTask } from './import-target.ts';
import { Importer, type ImporterDependencies, type ImportRequest } from './importer.ts';
import type { ImportedChannel } from './mapping/channels.ts';
import { mapped, type Outcome, skipped } from './mapping/values.ts';
import type { ImportReport } from './report.ts';
import { type UndoReport, UndoStore } from './undo.ts';
import { VerifyStore } from './verify.ts';

export { toReportPage } from './report.ts';

/** Whether to report, import or compare. */
export type ImportMode = 'dry-run' | 'apply' | 'verify';

type Hooks = Pick<ImporterDependencies, 'onProgress' | 'onPage'>;

/**
 * Imports another program's database into that of DATABASE_URL, or reports what an import would do. @throws Error with
 * the obstacle
 */
export const runImport = (mode: ImportMode, request: ImportRequest, hooks: Hooks): Promise<ImportReport> =>
  withImporter(hooks, (importer) => {
    if (mode === 'dry-run') return importer.dryRun(request);
    return mode === 'apply' ? importer.apply(request) : importer.verify(request);
  });

/** Reverts an import, except for objects that were used since. */
export const undoImport = (request: ImportRequest, hooks: Hooks): Promise<UndoReport> =>
  withImporter(hooks, (importer) => importer.undoAll(request));

/** A page of an import writes many rows at once, and the audit reads every entry. */
const STATEMENT_TIMEOUT_MS = HOUR_MS;

async function withImporter<R>(hooks: Hooks, work: (importer: Importer) => Promise<R>): Promise<R> {
  const { config } = loadConfig();
  const { databaseUrl } = config;
  if (databaseUrl.startsWith('sqlite:') && !existsSync(databaseUrl.slice('sqlite:'.length)))
    throw new Error(`There is no database at ${databaseUrl}. Start the service once, then import into it.`);
  const database = openDatabase<Tables>(config.databaseDirectUrl ?? databaseUrl, {
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    isCommand: true,
  });
  try {
    await assertStarted(database);
    const { current, previous } = openMasterKeys(config, false);
    await assertMasterKey(database, current, previous);
    return await work(buildImporter(database, createVault(current, previous), config.quotaPerUnit, hooks));
  } finally {
    await database.close();
  }
}

/**
 * Rejects a database without the tables of this release. Starting the service creates them, the first administrator and
 * the record of the master key; an import must not make these decisions on its own.
 */
async function assertStarted(database: Database<Tables>): Promise<void> {
  const applied = await appliedMigrations(database);
  if (applied.size === 0)
    throw new Error(
      'The service was never started on this database: it has no tables yet. Start it once, with the settings it is to have, then import.',
    );
  if (migrations.some(({ id }) => !applied.has(id)))
    throw new Error('This database is of an earlier release. Start the service once, which updates it, then import.');
}

/** Constructs the importer on a database of the service. */
export const buildImporter = (database: Database<Tables>, vault: Vault, quotaPerUnit: number, hooks: Hooks): Importer =>
  new Importer({
    store: new AccountImportStore(database),
    verifyStore: new VerifyStore(database),
    undo: new UndoStore(database),
    target: importTarget(database, vault, quotaPerUnit),
    clock: systemClock,
    auditLedger: async () =>
      (await auditLedger(database)).map(
        ({ rule, at, expected, found }) => `${rule}: ${at}, expected ${expected}, found ${found}`,
      ),
    ...hooks,
  });

function importTarget(database: Database<Tables>, vault: Vault, quotaPerUnit: number): ImportTarget {
  const vendors = new VendorRegistry();
  const names: readonly string[] = CHANNEL_VENDORS;
  const channels = new CatalogStore(database);
  const hasVendor = (name: string): name is ChannelVendor => names.includes(name);
  return {
    quotaPerUnit,
    hasVendor,
    isVideoVendor: (vendor) => (VENDORS as readonly string[]).includes(vendor),
    checkChannels,
    async addChannel(trx, channel, now) {
      const { baseUrl, isPrivate } = reachable(channel, vendors.profile(channel.vendor).defaultBaseUrl);
      const id = await channels.addChannel(trx, {
        name: channel.name.slice(0, 100),
        vendor: channel.vendor,
        base_url: baseUrl,
        credentials: '',
        options: JSON.stringify(isPrivate ? { private: true } : {}),
        models: JSON.stringify(channel.models),
        model_mapping: JSON.stringify(channel.modelMapping),
        priority: channel.priority,
        weight: channel.weight,
        enabled: channel.isEnabled ? 1 : 0,
        sandbox: null,
        created_at: now,
        updated_at: now,
      });
      await channels.setChannel(trx, id, {
        credentials: encryptCredentials(vault, id, toCredentialList(channel.credentials)),
        connection: encryptConnection(vault, id, connectionOf(channel, isPrivate)),
      });
      return { id, updatedAt: now };
    },
    taskHandle: (vendor, job) => vendors.find(vendor)?.handleOf?.(job),
    addTask: (trx, task) => addImportedTask(trx, task),
    addEndedTasks: (trx, tasks) => addEndedTasks(trx, tasks),
    sealTotpSecret: (userId, secret) => vault.seal(secret, twoFactorSecretCell(userId)),
    sealCode(code) {
      const normalized = normalizeCode(code);
      return { hash: hashToken(normalized), hint: maskCode(normalized) };
    },
  };

  function checkChannels(outcome: Outcome<readonly ImportedChannel[]>): Outcome<readonly ImportedChannel[]> {
    if (outcome.kind === 'skipped') return outcome;
    const remarks = [...outcome.remarks];
    try {
      const checked = outcome.value.map((channel) => {
        const profile = vendors.profile(channel.vendor);
        const { isPrivate } = reachable(channel, profile.defaultBaseUrl);
        assertSettings(channel);
        connectionOf(channel, isPrivate);
        if (isPrivate) remarks.push(describePrivate(channel));
        const credentials = readCredentials(channel, credentialReader(profile), remarks);
        return { ...channel, credentials, isEnabled: channel.isEnabled && !isPrivate };
      });
      return mapped(checked, [...new Set(remarks)]);
    } catch (error) {
      if (isAppError(error)) return skipped(formatMessage(error.code, 'en', error.options.params));
      throw error;
    }
  }
}

const describePrivate = ({ baseUrl }: ImportedChannel): string =>
  `its address ${new URL(baseUrl).host} is a private one or not https: it comes disabled; enable it if it may be called from here`;

/** Applies the rules for settings that administrators enter. @throws AppError naming the setting */
function assertSettings({ models, baseUrl, modelMapping, extraHeaders, proxy }: ImportedChannel): void {
  const settings = { models, base_url: baseUrl, model_mapping: modelMapping, extra_headers: extraHeaders, proxy };
  const checked = validatorFor(changeChannel.body)(defined(settings));
  if ('error' in checked) throw checked.error;
}

/** The usable credentials of a channel. @throws AppError if there are none */
function readCredentials(
  { credentials }: ImportedChannel,
  read: CredentialReader,
  remarks: string[],
): ImportedChannel['credentials'] {
  const usable: ImportedChannel['credentials'][number][] = [];
  let failure: unknown;
  for (const { values, enabled } of credentials)
    try {
      usable.push({ values: read(values), enabled });
    } catch (error) {
      if (!isAppError(error)) throw error;
      failure = error;
    }
  if (usable.length === 0) throw failure;
  const unusable = credentials.length - usable.length;
  if (unusable > 0) remarks.push(`${unusable} of its keys have characters that no key has and are left out`);
  return usable;
}

/** Parses a channel's base URL and marks private addresses. @throws AppError for an invalid address */
function reachable({ baseUrl }: ImportedChannel, own: string): { baseUrl: string; isPrivate: boolean } {
  const text = baseUrl === '' ? own : baseUrl;
  try {
    return { baseUrl: parseBaseUrl(text, false), isPrivate: false };
  } catch {
    return { baseUrl: parseBaseUrl(text, true), isPrivate: true };
  }
}

const connectionOf = ({ extraHeaders, proxy }: ImportedChannel, isPrivate: boolean) =>
  changeConnection({}, defined({ extra_headers: extraHeaders, proxy }), isPrivate);

/** Inserts a task submitted by another program, to be polled here immediately. Its time limit starts now. */
async function addImportedTask(
  trx: Trx,
  { id, userId, tokenId, channelId, task, now }: NewImportedTask,
): Promise<number> {
  const { publicId = id, hasStarted, submittedAt = now } = task;
  const taken = await trx.selectFrom('tasks').select('id').where('public_id', '=', publicId).executeTakeFirst();
  const row = newTaskRow({
    id,
    public_id: taken === undefined ? publicId : id,
    user_id: userId,
    token_id: tokenId ?? NO_TOKEN,
    channel_id: channelId,
    credential_id: task.credentialId,
    vendor: task.vendor as VendorId,
    model: task.model,
    upstream_model: task.upstreamModel,
    action: task.action,
    price: task.paid,
    prompt: task.prompt,
    status: hasStarted ? 'IN_PROGRESS' : 'SUBMITTED',
    progress: hasStarted ? 30 : 10,
    handle: JSON.stringify(task.handle),
    submit_time: submittedAt,
    start_time: hasStarted ? submittedAt : 0,
    created_at: now,
  });
  const { seq } = await trx.insertInto('tasks').values(row).returning('seq').executeTakeFirstOrThrow();
  return seq;
}

/** Inserts tasks that ended in another program. Reserves, charges, copies and reports nothing for them. */
async function addEndedTasks(trx: Trx, tasks: readonly NewEndedTask[]): Promise<void> {
  await trx.insertInto('tasks').values(tasks.map(toEndedRow)).execute();
}

function toEndedRow({ importId, id, publicId = id, userId, tokenId, channelId, task, now }: NewEndedTask) {
  const { createdAt = now, hasSucceeded } = task;
  const finishedAt = task.finishedAt ?? createdAt;
  return {
    seq: importedEndedTaskSeq(importId, task.sourceId),
    ...newTaskRow({
      id,
      public_id: publicId,
      user_id: userId,
      token_id: tokenId ?? NO_TOKEN,
      channel_id: channelId ?? null,
      credential_id: channelId === undefined ? null : (task.credentialId ?? null),
      vendor: task.vendor as VendorId,
      model: task.model,
      upstream_model: task.upstreamModel,
      action: task.action,
      price: task.paid,
      prompt: task.prompt,
      status: hasSucceeded ? 'SUCCESS' : 'FAILURE',
      progress: 100,
      handle: task.handle === undefined ? null : JSON.stringify(task.handle),
      artifact: task.url === undefined ? null : JSON.stringify({ kind: 'url', url: task.url }),
      fail_cause: hasSucceeded ? '' : 'unknown',
      fail_reason: toWellFormedText(task.failReason),
      submit_time: task.submittedAt ?? createdAt,
      start_time: task.startedAt ?? 0,
      created_at: createdAt,
      finish_time: finishedAt,
      updated_at: finishedAt,
      next_poll_at: null,
    }),
  };
}
