import * as endpoints from '../../contract/own-video-submit-quote-and-delete.ts';
import { done, ok } from '../../contract/success-bodies-and-pagination.ts';
import type { ChannelDirectory } from '../channels/directory.ts';
import { notExistError } from '../platform/app-error.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { announceEnd } from '../platform/sunset-headers.ts';
import type { VideoDeletion } from './deliver/video-deletion.ts';
import type { PriceQuoteService } from './price-quote-service.ts';
import {
  type GenerationRequestBody,
  parseGenerationRequest,
  type RequestPictures,
} from './submit/generation-request.ts';
import { submitForAccount } from './submit/submit-for-token-or-account.ts';
import type { SubmitService } from './submit/submit-service.ts';
import type { TaskStore } from './task-store.ts';
import type { VideoDurationStatisticsStore } from './video-duration-statistics-store.ts';

export interface ConsoleVideoRouteDependencies {
  readonly durations: VideoDurationStatisticsStore;
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'retirement'>;
  readonly store: TaskStore;
  readonly submitter: SubmitService;
  readonly quotes: PriceQuoteService;
  readonly videoDeletion: VideoDeletion;
}

/** Videos that a person starts in the console: on the account itself, without a token and its limits. */
export function addConsoleVideoRoutes(
  routes: RouteRegistry,
  { store, submitter, quotes, videoDeletion, durations, channels }: ConsoleVideoRouteDependencies,
): void {
  const parse = (body: unknown, request: RequestPictures) =>
    parseGenerationRequest(body as GenerationRequestBody, request, undefined);

  routes.add(endpoints.submitOwnVideo, async ({ body, caller, request, reply }) => {
    const generation = parse(body, request);
    await announceEnd(channels, generation.model, reply);
    const { task } = await submitForAccount(submitter, caller.userId, generation, request);
    return ok({ task_id: task.public_id });
  });

  routes.add(endpoints.quoteVideo, async ({ body, caller, request }) =>
    ok(await quotes.quote({ userId: caller.userId, models: [] }, parse(body, request))),
  );

  routes.add(endpoints.listGenerationTimes, async () => {
    const models = (await channels.listModels()).filter(({ kind }) => kind === 'video').map(({ id }) => id);
    return ok([...(await durations.read(models))]);
  });

  routes.add(endpoints.deleteOwnVideo, async ({ params, caller }) => {
    const task = await store.findForUser(params.task_id, caller.userId);
    if (task === undefined) throw notExistError('task');
    await videoDeletion.delete(task);
    return done();
  });
}
