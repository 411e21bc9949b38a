import type { Static } from 'typebox';
import * as endpoints from '../../contract/admin-videos.ts';
import { list, longList, ok, toLongPage, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { Authorship, FindAuthors } from '../accounts/memberships.ts';
import type { Channel, ChannelDirectory } from '../channels/directory.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import { PollFailed } from '../upstreams/upstream.ts';
import { toVideoRow } from './formats.ts';
import type { Reconciliation, ReconciliationRow, ReconciliationStore, VendorAccountState } from './reconciliation.ts';
import type { TaskQueue } from './task-queue.ts';
import type { TaskAdminStore } from './task-reports.ts';
import type { ShownTask, Task } from './task-store.ts';

/** Reads the ledger entries of one task, oldest first. Implemented by `quota`. */
export interface LedgerHistory {
  entriesOf(ref: string): Promise<
    readonly {
      readonly kind: string;
      readonly amount: number;
      readonly plan_amount: number;
      readonly charged: number;
      readonly created_at: number;
    }[]
  >;
}

interface TaskAdminRouteDependencies {
  readonly store: TaskAdminStore;
  readonly queue: Pick<TaskQueue, 'waiting' | 'withPositions'>;
  readonly channels: Pick<ChannelDirectory, 'byId'>;
  readonly ledgerHistory: LedgerHistory;
  readonly findAuthors: FindAuthors;
}

/** Registers the admin endpoints for the tasks of all accounts. */
export function addTaskAdminRoutes(
  routes: RouteRegistry,
  { store, queue, channels, ledgerHistory, findAuthors }: TaskAdminRouteDependencies,
): void {
  routes.add(endpoints.listTasks, async ({ query }) => {
    const { q = '', task_id, status, model, user_id, channel_id, unfinished, from, to } = query;
    const { rows, ...page } = await store.page(
      {
        search: q.trim(),
        taskId: task_id,
        status,
        model,
        userId: toNumber(user_id),
        channelId: toNumber(channel_id),
        unfinished: unfinished !== undefined,
        from: toNumber(from, 1000),
        to: toNumber(to, 1000),
      },
      toLongPage(query),
    );
    const [shown, authorOf] = await Promise.all([queue.withPositions(rows), findAuthors(rows)]);
    return longList(
      shown.map((task) => toAdminRow(task, authorOf(task))),
      page,
    );
  });

  routes.add(endpoints.listWaitingVideos, async () =>
    ok(
      (await queue.waiting()).map(({ model, kind, channelIds, count, oldest }) => ({
        model,
        waits_for: kind === 'vendor' ? ('channel' as const) : kind,
        channel_ids: channelIds,
        count,
        oldest_time: toSeconds(oldest),
      })),
    ),
  );

  routes.add(endpoints.getTask, async ({ params }) => {
    const task = await store.find(params.id);
    if (task === undefined) throw notExistError('task');
    const [[shown = task], authorOf, attempts, entries, channel] = await Promise.all([
      queue.withPositions([task]),
      findAuthors([task]),
      store.failedAttempts(task.id),
      ledgerHistory.entriesOf(task.id),
      task.channel_id === null ? undefined : channels.byId(task.channel_id),
    ]);
    return ok({
      ...toAdminRow(shown, authorOf(task)),
      internal_id: task.id,
      channel: channel?.name ?? '',
      vendor_handle: task.handle === null ? null : JSON.parse(task.handle),
      request: JSON.parse(task.request),
      data: JSON.parse(task.data),
      next_poll_time: task.next_poll_at === null ? null : toSeconds(task.next_poll_at),
      poll_failures: task.poll_failures,
      timeline: toTimeline(task, attempts),
      money: entries.map(({ created_at, kind, amount, plan_amount, charged }) => ({
        time: toSeconds(created_at),
        kind,
        amount,
        plan_amount,
        charged,
      })),
    });
  });
}

const toNumber = (text: string | undefined, factor = 1): number | undefined =>
  text === undefined ? undefined : Number(text) * factor;

function toAdminRow(task: ShownTask, authorship: Authorship): Static<typeof endpoints.AdminTaskRow> {
  return {
    ...toVideoRow(task),
    ...authorship,
    user_id: task.user_id,
    token_id: task.token_id,
    vendor: task.vendor,
    upstream_model: task.upstream_model,
    channel_id: task.channel_id,
    credential_id: task.credential_id,
    attempt: task.attempt,
    created_time: toSeconds(task.created_at),
    removed: task.deleted === 1,
  };
}

type Timeline = Static<typeof endpoints.AdminTask>['timeline'];

/** The history of a task, in chronological order. */
function toTimeline(task: Task, attempts: Awaited<ReturnType<TaskAdminStore['failedAttempts']>>): Timeline {
  const event = (time: number, name: string, also: Partial<Timeline[number]> = {}): Timeline[number] => ({
    time: toSeconds(time),
    event: name,
    attempt: task.attempt,
    channel_id: task.channel_id,
    credential_id: task.credential_id,
    reason: '',
    code: '',
    message: '',
    ...also,
  });
  const failure = { code: task.error_code, message: task.fail_reason };
  return [
    event(task.created_at, 'created', { attempt: 0, channel_id: null, credential_id: null }),
    ...attempts.map(({ attempt, channel_id, credential_id, outcome, code, message, created_at }) =>
      event(created_at, 'attempt_failed', { attempt, channel_id, credential_id, reason: outcome, code, message }),
    ),
    ...(task.handle === null ? [] : [event(task.submit_time, 'submitted')]),
    ...(task.start_time === 0 ? [] : [event(task.start_time, 'started')]),
    ...(task.status === 'SUCCESS' ? [event(task.finish_time, 'succeeded')] : []),
    ...(task.status === 'FAILURE' ? [event(task.finish_time, 'failed', failure)] : []),
  ];
}

interface ReconciliationRouteDependencies {
  readonly reconciliation: Reconciliation;
  readonly store: ReconciliationStore;
  readonly channels: { byId(id: number): Promise<Channel | undefined> };
}

/** Registers the admin endpoints that compare settled amounts with vendor billing. */
export function addReconciliationRoutes(
  routes: RouteRegistry,
  { reconciliation, store, channels }: ReconciliationRouteDependencies,
): void {
  routes.add(endpoints.listReconciliations, async ({ query }) => {
    const { offset, pageSize } = toPage(query);
    const channelId = query.channel_id === undefined ? undefined : Number(query.channel_id);
    const { rows, total } =
      query.by === 'day'
        ? await store.listDays(channelId, offset, pageSize)
        : await store.list(channelId, offset, pageSize);
    return list(
      rows.map((row) => toReconciliation(row, row.channel_name ?? '')),
      total,
    );
  });

  routes.add(endpoints.listReconciledAccounts, async () => ok((await reconciliation.states()).map(toAccount)));

  routes.add(endpoints.reconcileChannel, async ({ params }) => {
    const channel = await channels.byId(Number(params.id));
    if (channel === undefined) throw notExistError('channel');
    const row = await reconciliation.reconcile(channel).catch(rethrowUnreadable);
    return ok(row === undefined ? null : toReconciliation(row, channel.name));
  });
}

function rethrowUnreadable(error: unknown): never {
  if (error instanceof OutboundError || error instanceof PollFailed) throw new AppError('upstream_unavailable');
  throw error;
}

const MICRO = 1_000_000;

const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

const toAccount = (state: VendorAccountState): Static<typeof endpoints.ReconciledAccount> => ({
  channel_id: state.channel.id,
  channel_name: state.channel.name,
  vendor: state.channel.vendor,
  unit: state.unit,
  skew_seconds: toSeconds(state.skewMs),
  read_at: toSecondsOrNull(state.readAt),
  failed_at: toSecondsOrNull(state.failedAt),
  error: state.error,
  judged:
    state.judgement === undefined
      ? null
      : {
          from: toSeconds(state.judgement.from),
          to: toSeconds(state.judgement.to),
          settled_units: state.judgement.settled / MICRO,
          billed_units: state.judgement.billed / MICRO,
          unexplained_units: state.judgement.unexplained / MICRO,
        },
});

function toReconciliation(row: ReconciliationRow, channelName: string): Static<typeof endpoints.Reconciliation> {
  const { billed_units: billed, settled_units: settled } = row;
  return {
    id: row.id,
    channel_id: row.channel_id,
    channel_name: channelName,
    vendor: row.vendor,
    unit: row.unit,
    from: row.from_time === null ? null : toSeconds(row.from_time),
    to: toSeconds(row.to_time),
    videos: row.videos,
    settled_units: settled / MICRO,
    settled_quota: row.settled_quota,
    billed_units: billed === null ? null : billed / MICRO,
    difference: billed === null ? null : (billed - settled) / MICRO,
  };
}
