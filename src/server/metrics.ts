import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Batches } from './batches/module.ts';
import type { CircuitState } from './channels/circuit-breaker.ts';
import type { Chat } from './chat/module.ts';
import { journalDirectory } from './chat/settlement-journal.ts';
import type { Foundation } from './foundation.ts';
import { partitionsOf } from './jobs.ts';
import type { Modules } from './modules.ts';
import { type Sample, toSamples } from './platform/metrics.ts';
import type { LedgerAuditService } from './quota/ledger-audit.ts';
import type { Video } from './video/module.ts';

/** Registers metrics that are read on each scrape; counters are recorded where the events happen. */
export function registerOnDemandMetrics(
  foundation: Foundation,
  { channels, vendors, notifications, mail, quota, webhooks, artifacts, deviceAuth }: Modules,
  { video, chat, batches }: { readonly video: Video; readonly chat: Chat; readonly batches: Pick<Batches, 'store'> },
): void {
  const { metrics } = foundation;
  // First, because the other readings use connections themselves.
  registerDatabaseMetrics(foundation);
  registerTaskMetrics(foundation, video);
  const enabledChannels = async () =>
    [...(await channels.catalog()).channels.values()].flatMap(({ enabled, channel }) => (enabled ? [channel] : []));
  metrics.expectUpstreamCalls(async () =>
    (await enabledChannels()).map(({ id, vendor }) => {
      const images = vendors.find(vendor)?.images === undefined ? [] : ['image'];
      return { vendor, channelId: id, kinds: vendors.isChat(vendor) ? ['chat'] : ['submit', 'poll', ...images] };
    }),
  );
  metrics.register({
    name: 'channel_state',
    help: 'Enabled channels as this process sees them: 0 working, 1 half-open, 2 open.',
    labelNames: ['channel', 'vendor'],
    read: async () =>
      (await enabledChannels()).map(({ id, vendor }) => ({
        labels: { channel: String(id), vendor },
        value: CHANNEL_STATES[channels.stateOf(id)],
      })),
  });
  registerReconciliationMetrics(foundation, video);
  registerBatchMetrics(foundation, batches);
  registerAuditMetrics(foundation, quota.audit);
  metrics.register({
    name: 'mail_backlog',
    help: 'E-mails that wait to be sent, of all processes.',
    read: async () => toSamples(await mail.countWaiting()),
  });
  metrics.register({
    name: 'webhook_backlog',
    help: 'Deliveries of webhooks not made a minute after they were queued, of all processes.',
    read: async () => toSamples(await webhooks.countOverdue()),
  });
  registerArtifactMetrics(foundation, artifacts);
  metrics.register({
    name: 'sign_ins',
    help: 'Sign-ins of devices and Claude Code and grants of applications that have not ended, of all processes.',
    labelNames: ['kind'],
    read: async () =>
      (await deviceAuth.devices.countByKind()).map(({ kind, count }) => ({ labels: { kind }, value: count })),
  });
  metrics.register({
    name: 'streams_open',
    help: 'Responses being streamed by this process: model calls, notifications, video downloads.',
    labelNames: ['kind'],
    read: () => [
      { labels: { kind: 'chat' }, value: chat.openStreams },
      { labels: { kind: 'notifications' }, value: notifications.streams.size },
      { labels: { kind: 'download' }, value: video.openDownloads },
    ],
  });
}

function registerArtifactMetrics({ metrics }: Foundation, artifacts: Modules['artifacts']): void {
  metrics.register({
    name: 'artifact_bytes',
    help: 'Stored copies of videos, of all processes.',
    read: async () => toSamples((await artifacts.usage()).bytes),
  });
  metrics.register({
    name: 'artifact_sums_wrong',
    help: 'Sums of stored space that differed from the stored copies when this process last compared them, every six hours.',
    read: async () => toSamples(artifacts.countWrongSums()),
  });
  metrics.register({
    name: 'artifact_backlog',
    help: 'Videos that wait to be copied or are being copied, of all processes.',
    read: async () => toSamples(await artifacts.countPending()),
  });
  metrics.register({
    name: 'artifact_store_up',
    help: 'Whether the files of stored videos are where this service wrote them; no sample if copies are disabled.',
    async read() {
      const isAvailable = await artifacts.isAvailable();
      return isAvailable === undefined ? [] : toSamples(Number(isAvailable));
    },
  });
  metrics.register({
    name: 'artifact_unremovable_files',
    help: 'Files of removed or expired videos whose deletion has failed and is retried, of all processes.',
    read: async () => toSamples(await artifacts.countUnremovable()),
  });
}

/** Uses each account's newest reading that has a predecessor. */
function registerReconciliationMetrics({ metrics }: Foundation, { reconciliations, reconciliation }: Video): void {
  metrics.register({
    name: 'reconciliation_unexplained_units',
    help: "What a vendor took from a channel's account in about a day and its videos do not explain, in its own units; 0 where they do.",
    labelNames: ['channel', 'vendor'],
    async read() {
      const states = await reconciliation.states();
      return states.flatMap(({ channel: { id, vendor }, judgement }) =>
        judgement === undefined
          ? []
          : [{ labels: { channel: String(id), vendor }, value: judgement.unexplained / MICRO }],
      );
    },
  });
  metrics.register({
    name: 'reconciliation_units',
    help: "Units of the last hour by channel: what was settled, and what the vendor took from its account; the vendor's own units.",
    labelNames: ['channel', 'vendor', 'kind'],
    async read() {
      const rows = await reconciliations.newestOfAll();
      return rows.flatMap(({ channel_id: channel, vendor, settled_units: settled, billed_units: billed }) => {
        const labels = { channel: String(channel), vendor };
        if (billed === null) return [];
        return [
          { labels: { ...labels, kind: 'settled' }, value: settled / MICRO },
          { labels: { ...labels, kind: 'billed' }, value: billed / MICRO },
        ];
      });
    },
  });
}

function registerBatchMetrics({ metrics }: Foundation, { store }: Pick<Batches, 'store'>): void {
  metrics.register({
    name: 'batches_open',
    help: 'Batches that have not ended, of all processes.',
    labelNames: ['status'],
    read: async () =>
      (await store.figures()).batches.map(({ name, count }) => ({ labels: { status: name }, value: Number(count) })),
  });
  metrics.register({
    name: 'batch_lines_open',
    help: 'Lines of batches that have not ended: not sent yet, model calls in flight, running videos.',
    labelNames: ['state'],
    read: async () =>
      (await store.figures()).lines.map(({ name, count }) => ({ labels: { state: name }, value: Number(count) })),
  });
}

const MICRO = 1_000_000;

function registerAuditMetrics({ metrics, clock }: Foundation, audit: LedgerAuditService): void {
  metrics.register({
    name: 'ledger_audit_ok',
    help: '1 when the last audit of the ledger found nothing, 0 when it found a mismatch.',
    read: async () => {
      const last = await audit.refresh();
      return toSamples(last && Number(last.ok));
    },
  });
  metrics.register({
    name: 'ledger_audit_age_seconds',
    help: 'Time since the last audit of the ledger, by whichever process.',
    read: async () => {
      const last = await audit.refresh();
      return toSamples(last && (clock.now() - last.finishedAt) / 1_000);
    },
  });
}

const CHANNEL_STATES: Readonly<Record<CircuitState, number>> = { closed: 0, halfOpen: 1, open: 2 };

function registerTaskMetrics({ metrics, clock }: Foundation, { figures, queue }: Video): void {
  metrics.register({
    name: 'tasks_open',
    help: 'Unfinished videos of all processes.',
    labelNames: ['vendor', 'status'],
    read: async () =>
      (await figures.read()).open.map(({ vendor, status, count }) => ({ labels: { vendor, status }, value: count })),
  });
  metrics.register({
    name: 'task_oldest_due_seconds',
    help: 'How long the unfinished video that waits longest has been due for its next poll.',
    read: async () => toSamples((await figures.read()).oldestDueMs / 1_000),
  });
  metrics.register({
    name: 'tasks_ambiguous',
    help: 'Videos whose submit may or may not have reached the vendor.',
    read: async () => toSamples((await figures.read()).ambiguous),
  });
  metrics.register({
    name: 'tasks_waiting',
    help: 'Videos that wait for a slot of their key, account or channel.',
    labelNames: ['vendor'],
    read: async () =>
      (await queue.figures()).map(({ vendor, count }) => ({ labels: { vendor }, value: Number(count) })),
  });
  metrics.register({
    name: 'task_oldest_waiting_seconds',
    help: 'How long the video that waits longest for a place has waited.',
    labelNames: ['vendor'],
    read: async () =>
      (await queue.figures()).map(({ vendor, oldest }) => ({
        labels: { vendor },
        value: Math.max(0, clock.now() - oldest) / 1_000,
      })),
  });
}

function registerDatabaseMetrics({ metrics, database, pubSub, config, clock }: Foundation): void {
  metrics.register({
    name: 'db_pool_connections',
    help: 'Connections to PostgreSQL of this process, and queries that wait for one.',
    labelNames: ['state'],
    read: () => Object.entries(database.connections?.() ?? {}).map(([state, value]) => ({ labels: { state }, value })),
  });
  metrics.register({
    name: 'database_up',
    help: 'Whether the database answers this process.',
    read: () => database.ping().then(() => toSamples(1)),
    otherwise: toSamples(0),
  });
  metrics.register({
    name: 'listen_connected',
    help: 'Whether messages of other processes arrive (LISTEN of PostgreSQL); always 1 with SQLite.',
    read: () => toSamples(Number(pubSub.isConnected)),
  });
  const partitions = partitionsOf({ database });
  metrics.register({
    name: 'partitions_ahead',
    help: 'Months to come for which PostgreSQL has a partition of the table; -1: there is none for the present one.',
    labelNames: ['table'],
    read: () =>
      Promise.all(
        partitions.map(async ([table, each]) => ({ labels: { table }, value: await each.countAhead(clock.now()) })),
      ),
  });
  const volumes = Object.entries({
    database: sqliteDirectory(config.databaseUrl),
    journal: journalDirectory(config.databaseUrl, config.journalDir),
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const readVolumes = (bytesOf: (stats: StatsFs) => number) =>
    Promise.all(
      volumes.map(
        async ([volume, path]): Promise<Sample> => ({ labels: { volume }, value: bytesOf(await statFileSystem(path)) }),
      ),
    );
  metrics.register({
    name: 'disk_free_bytes',
    help: 'Free space where this process writes: its SQLite database, the journal of model calls.',
    labelNames: ['volume'],
    read: () => readVolumes(({ bsize, bavail }) => bsize * bavail),
  });
  metrics.register({
    name: 'disk_size_bytes',
    help: 'Size of the file systems of disk_free_bytes.',
    labelNames: ['volume'],
    read: () => readVolumes(({ bsize, blocks }) => bsize * blocks),
  });
}

/** Stats the file system of a directory that may not exist yet. */
async function statFileSystem(path: string): Promise<StatsFs> {
  return statfs(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || dirname(path) === path) throw error;
    return statFileSystem(dirname(path));
  });
}

/** Undefined for PostgreSQL and for an in-memory database. */
const sqliteDirectory = (url: string): string | undefined =>
  url.startsWith('sqlite:') && url !== 'sqlite::memory:' ? dirname(url.slice('sqlite:'.length)) : undefined;
