import type { Static } from 'typebox';
import * as lines from '../../contract/admin-tasks.ts';
import { list, ok, toPage } from '../../contract/schemas.ts';
import type { Channels } from '../channels/channels.ts';
import { notExist } from '../platform/errors.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { TaskAdminStore } from './admin-store.ts';
import { toSeconds } from './faces/unified.ts';
import { toRow } from './owner-routes.ts';
import type { Task } from './store.ts';

/** What the ledger says of one task, oldest first; implemented by quota. */
export interface MoneyTrail {
  trail(ref: string): Promise<
    readonly {
      readonly kind: string;
      readonly amount: number;
      readonly plan_amount: number;
      readonly charged: number;
      readonly created_at: number;
    }[]
  >;
}

export interface TaskAdminRouteParts {
  readonly store: TaskAdminStore;
  readonly channels: Pick<Channels, 'byId'>;
  readonly money: MoneyTrail;
}

/** Everybody's tasks, for administrators. */
export function addTaskAdminRoutes(routes: Routes, { store, channels, money }: TaskAdminRouteParts): void {
  routes.add(lines.listTasks, async ({ query }) => {
    const { task_id, status, model, user_id, channel_id, unfinished, from, to } = query;
    const { offset, pageSize } = toPage(query);
    const { rows, total } = await store.page(
      {
        ...(task_id === undefined ? {} : { taskId: task_id }),
        ...(status === undefined ? {} : { status }),
        ...(model === undefined ? {} : { model }),
        ...(user_id === undefined ? {} : { userId: Number(user_id) }),
        ...(channel_id === undefined ? {} : { channelId: Number(channel_id) }),
        ...(unfinished === undefined ? {} : { unfinished: true }),
        ...(from === undefined ? {} : { from: Number(from) * 1000 }),
        ...(to === undefined ? {} : { to: Number(to) * 1000 }),
      },
      offset,
      pageSize,
    );
    return list(rows.map(toAdminRow), total);
  });

  routes.add(lines.getTask, async ({ params }) => {
    const task = await store.find(params.id);
    if (task === undefined) throw notExist('task');
    const [attempts, trail, channel] = await Promise.all([
      store.attempts(task.id),
      money.trail(task.id),
      task.channel_id === null ? undefined : channels.byId(task.channel_id),
    ]);
    return ok({
      ...toAdminRow(task),
      internal_id: task.id,
      channel: channel?.name ?? '',
      vendor_handle: task.handle === null ? null : JSON.parse(task.handle),
      request: JSON.parse(task.request),
      data: JSON.parse(task.data),
      next_poll_time: task.next_poll_at === null ? null : toSeconds(task.next_poll_at),
      poll_failures: task.poll_failures,
      timeline: toTimeline(task, attempts),
      money: trail.map(({ created_at, kind, amount, plan_amount, charged }) => ({
        time: toSeconds(created_at),
        kind,
        amount,
        plan_amount,
        charged,
      })),
    });
  });
}

function toAdminRow(task: Task): Static<typeof lines.AdminTaskRow> {
  return {
    ...toRow(task),
    user_id: task.user_id,
    token_id: task.token_id,
    vendor: task.vendor,
    upstream_model: task.upstream_model,
    channel_id: task.channel_id,
    attempt: task.attempt,
    error_code: task.error_code,
    created_time: toSeconds(task.created_at),
    removed: task.deleted === 1,
  };
}

type Timeline = Static<typeof lines.AdminTask>['timeline'];

/** What happened to a task, in the order it happened. */
function toTimeline(task: Task, attempts: Awaited<ReturnType<TaskAdminStore['attempts']>>): Timeline {
  const event = (time: number, name: string, also: Partial<Timeline[number]> = {}): Timeline[number] => ({
    time: toSeconds(time),
    event: name,
    attempt: task.attempt,
    channel_id: task.channel_id,
    reason: '',
    code: '',
    message: '',
    ...also,
  });
  const failure = { code: task.error_code, message: task.fail_reason };
  return [
    event(task.created_at, 'created', { attempt: 0, channel_id: null }),
    ...attempts.map(({ attempt, channel_id, outcome, code, message, created_at }) =>
      event(created_at, 'attempt_failed', { attempt, channel_id, reason: outcome, code, message }),
    ),
    ...(task.handle === null ? [] : [event(task.submit_time, 'submitted')]),
    ...(task.start_time === 0 ? [] : [event(task.start_time, 'started')]),
    ...(task.status === 'SUCCESS' ? [event(task.finish_time, 'succeeded')] : []),
    ...(task.status === 'FAILURE' ? [event(task.finish_time, 'failed', failure)] : []),
  ];
}
