import type { Static } from 'typebox';
import { list, ok, toPage } from '../../contract/schemas.ts';
import { TASK_STATUS, type TaskStatus } from '../../contract/states.ts';
import * as lines from '../../contract/video.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, invalid, notExist } from '../platform/errors.ts';
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

/** Filters of the list; empty ones filter nothing, others must mean something. */
function toTaskFilter(query: {
  readonly status?: string;
  readonly model?: string;
  readonly from?: string;
  readonly to?: string;
  readonly q?: string;
  readonly favourite?: string;
}): TaskFilter {
  const status = toStatus(query.status);
  const from = toTime(query.from, 'from');
  const to = toTime(query.to, 'to');
  const words = toWords(query.q ?? '');
  return {
    ...(status === undefined ? {} : { status }),
    ...(query.model === undefined || query.model === '' ? {} : { model: query.model }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(words.length === 0 ? {} : { words }),
    ...(query.favourite === 'true' ? { favourite: true } : {}),
  };
}

/** Words beyond these narrow a search no further. */
const MOST_WORDS = 8;

const toWords = (text: string): string[] =>
  text
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, MOST_WORDS);

function toStatus(text: string | undefined): TaskStatus | undefined {
  if (text === undefined || text === '') return undefined;
  const word = text.toUpperCase();
  if (!Object.hasOwn(TASK_STATUS, word))
    throw invalid(`status must be one of ${Object.keys(TASK_STATUS).join(', ')}.`, 'status');
  return word as TaskStatus;
}

/** Unix seconds to milliseconds. */
function toTime(text: string | undefined, name: string): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,12}$/.test(text)) throw invalid(`${name} must be a time in Unix seconds.`, name);
  return Number(text) * 1000;
}
