import type { Static } from 'typebox';
import { list, ok, toPage } from '../../contract/schemas.ts';
import { TASK_STATUS, type TaskStatus } from '../../contract/states.ts';
import * as lines from '../../contract/video.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, notExist } from '../platform/errors.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Contents } from './content.ts';
import { toSeconds } from './faces/unified.ts';
import type { PlayAddresses } from './play-address.ts';
import type { TaskReader } from './reader.ts';
import { sendContent, wishOf } from './routes.ts';
import type { Task, TaskFilter, TaskStore } from './store.ts';

export interface OwnerRouteParts {
  readonly store: TaskStore;
  readonly reader: TaskReader;
  readonly contents: Contents;
  readonly addresses: PlayAddresses;
  readonly clock: Clock;
}

/** The owner's own view of all his tasks, whichever token started them. */
export function addOwnerVideoRoutes(
  routes: Routes,
  { store, reader, contents, addresses, clock }: OwnerRouteParts,
): void {
  routes.add(lines.listOwnVideos, async ({ query, caller }) => {
    const { offset, pageSize } = toPage(query);
    const { rows, total } = await store.page({ ...toTaskFilter(query), userId: caller.userId }, offset, pageSize);
    return list(rows.map(toRow), total);
  });

  routes.add(lines.getOwnVideo, async ({ params, caller }) => {
    const found = await store.ofUser(params.task_id, caller.userId);
    if (found === undefined) throw notExist('task');
    const task = await reader.fresh(found);
    return ok({
      ...toRow(task),
      start_time: toSeconds(task.start_time),
      refunded: task.status === 'FAILURE',
      play_url: task.status === 'SUCCESS' ? addresses.make(task.public_id, clock.now()) : '',
      request: JSON.parse(task.request),
    });
  });

  routes.add(lines.playVideo, async ({ params, query, request, reply }) => {
    if (!addresses.permits(params.task_id, Number(query.expires), query.signature, clock.now()))
      throw new AppError('forbidden');
    const task = await store.byPublicId(params.task_id);
    if (task === undefined || task.deleted === 1) throw new AppError('content_not_found');
    return sendContent(reply, await contents.open(task, wishOf(request, undefined)));
  });
}

export function toRow(task: Task): Static<typeof lines.VideoRow> {
  return {
    task_id: task.public_id,
    model: task.model,
    prompt: task.prompt,
    status: task.status,
    progress: `${task.progress}%`,
    fail_reason: task.fail_reason,
    quota: task.price,
    submit_time: toSeconds(task.submit_time),
    finish_time: toSeconds(task.finish_time),
  };
}

/** Filters of the lists; a value that means nothing filters nothing out but matches nothing either where it names a state. */
export function toTaskFilter(query: {
  readonly status?: string;
  readonly model?: string;
  readonly from?: string;
  readonly to?: string;
}): TaskFilter {
  const time = (text: string | undefined): number | undefined =>
    text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) * 1000 : undefined;
  const status = query.status?.toUpperCase();
  const from = time(query.from);
  const to = time(query.to);
  return {
    ...(status !== undefined && status in TASK_STATUS ? { status: status as TaskStatus } : {}),
    ...(query.model === undefined || query.model === '' ? {} : { model: query.model }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}
