import { longList, toLongPage } from '../../contract/large-list-pagination.ts';
import { ok } from '../../contract/success-bodies-and-pagination.ts';
import { TASK_STATUS, type TaskStatus } from '../../contract/task-states.ts';
import { toSeconds } from '../../contract/time-units.ts';
import * as endpoints from '../../contract/video.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-revocation-watch.ts';
import type { Artifacts } from '../artifacts/make.ts';
import { invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { AccountCaller } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { PlayLinks } from './deliver/play-links.ts';
import type { RefreshingTaskReader } from './poll/refreshing-task-reader.ts';
import { isImportedEndedTask } from './seq-of-imported-ended-tasks.ts';
import type { Task, TaskFilter, TaskStore } from './task-store.ts';
import { toVideoRow } from './video-row-presenter.ts';

export interface OwnerRouteDependencies {
  readonly store: TaskStore;
  readonly reader: RefreshingTaskReader;
  readonly playLinks: PlayLinks;
  readonly artifacts: Pick<Artifacts, 'findExpiry' | 'findWithPoster'>;
  readonly credentialWatch: CredentialRevocationWatch;
  readonly vendors: VendorRegistry;
  readonly clock: Clock;
}

/** An account's own videos, whichever token submitted them. */
export function addOwnerVideoRoutes(
  routes: RouteRegistry,
  { store, reader, playLinks, artifacts, credentialWatch, vendors, clock }: OwnerRouteDependencies,
): void {
  const linkTo = (task: Task, caller: AccountCaller): string =>
    playLinks.create(task.public_id, credentialWatch.referenceOf(caller), clock.now());
  /** Links to the posters of these tasks, where there are some. */
  const findPosters = async (tasks: readonly Task[], caller: AccountCaller) => {
    const finished = tasks.filter(({ status }) => status === 'SUCCESS');
    const stored = await artifacts.findWithPoster(finished.map(({ id }) => id));
    return (task: Task): string =>
      stored.has(task.id) || (task.status === 'SUCCESS' && vendors.get(task.vendor).hasCover === true)
        ? `${linkTo(task, caller)}&variant=thumbnail`
        : '';
  };

  routes.add(endpoints.listOwnVideos, async ({ query, caller }) => {
    const filter = { ...toTaskFilter(query), userId: caller.userId };
    const { rows, ...page } = await store.page(filter, toLongPage(query));
    const posterOf = await findPosters(rows, caller);
    return longList(
      rows.map((task) => toVideoRow(task, posterOf(task))),
      page,
    );
  });

  routes.add(endpoints.getOwnVideo, async ({ params, caller }) => {
    const found = await store.findForUser(params.task_id, caller.userId);
    if (found === undefined) throw notExistError('task');
    const task = await reader.withCurrentState(found);
    const expiry = await artifacts.findExpiry(task.id);
    const posterOf = await findPosters([task], caller);
    return ok({
      ...toVideoRow(task, posterOf(task)),
      start_time: toSeconds(task.start_time),
      refunded: task.status === 'FAILURE' && !isImportedEndedTask(task),
      play_url: task.status === 'SUCCESS' ? linkTo(task, caller) : '',
      stored: expiry !== undefined,
      stored_until: toSeconds(expiry ?? 0),
      request: JSON.parse(task.request),
    });
  });
}

/** The filters of the list; empty ones are ignored. @throws AppError `invalid_request` */
function toTaskFilter(query: {
  readonly status?: string;
  readonly model?: string;
  readonly from?: string;
  readonly to?: string;
  readonly q?: string;
  readonly favourite?: string;
}): TaskFilter {
  const searchTerms = toSearchTerms(query.q ?? '');
  return {
    status: toStatus(query.status),
    model: query.model || undefined,
    from: toMilliseconds(query.from, 'from'),
    to: toMilliseconds(query.to, 'to'),
    searchTerms: searchTerms.length === 0 ? undefined : searchTerms,
    favourite: query.favourite === 'true',
  };
}

/** Further terms are ignored. */
const MAX_SEARCH_TERMS = 8;

const toSearchTerms = (text: string): string[] =>
  text
    .split(/\s+/)
    .filter((term) => term !== '')
    .slice(0, MAX_SEARCH_TERMS);

function toStatus(text: string | undefined): TaskStatus | undefined {
  if (text === undefined || text === '') return undefined;
  const status = text.toUpperCase();
  if (!Object.hasOwn(TASK_STATUS, status))
    throw invalidRequest(`status must be one of ${Object.keys(TASK_STATUS).join(', ')}.`, 'status');
  return status as TaskStatus;
}

function toMilliseconds(unixSeconds: string | undefined, name: string): number | undefined {
  if (unixSeconds === undefined || unixSeconds === '') return undefined;
  if (!/^\d{1,12}$/.test(unixSeconds)) throw invalidRequest(`${name} must be a time in Unix seconds.`, name);
  return Number(unixSeconds) * 1000;
}
