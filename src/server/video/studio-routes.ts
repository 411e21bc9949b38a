import { done, ok } from '../../contract/schemas.ts';
import * as lines from '../../contract/studio.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, notExist } from '../platform/errors.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Idempotency } from './idempotency.ts';
import type { Removals } from './removals.ts';
import { type CallerBody, readWish, type Wish } from './requests.ts';
import type { TaskStore } from './store.ts';
import type { Alongside, Submitter } from './submit.ts';
import type { Json } from './vendor.ts';

export interface StudioRouteParts {
  readonly store: TaskStore;
  readonly submitter: Submitter;
  readonly idempotency: Idempotency;
  readonly removals: Removals;
  readonly clock: Clock;
}

/** Videos that a person starts in the console: on the account itself, with no token and no token's limits between. */
export function addStudioRoutes(
  routes: Routes,
  { store, submitter, idempotency, removals, clock }: StudioRouteParts,
): void {
  const submit = async (caller: AccountCaller, wish: Wish, request: RequestContext): Promise<string> => {
    const run = async (alongside?: Alongside): Promise<Json> => {
      const { task } = await submitter.submit(
        { userId: caller.userId, models: [] },
        wish,
        alongside === undefined ? {} : { alongside },
      );
      return { id: task.public_id };
    };
    const key = request.headers['idempotency-key'];
    const answer =
      typeof key === 'string'
        ? // Tokens have positive ids: a person's keys live under the negative of his own, apart from everybody's.
          await idempotency.once(-caller.userId, key, request.rawBody ?? Buffer.from(JSON.stringify(wish.body)), run)
        : await run();
    return readId(answer);
  };

  routes.add(lines.submitOwnVideo, async ({ body, caller, request }) =>
    ok({ task_id: await submit(caller, readWish(body as CallerBody, [], undefined), request) }),
  );

  routes.add(lines.quoteVideo, async ({ body, caller }) =>
    ok({
      quota: await submitter.quote({ userId: caller.userId, models: [] }, readWish(body as CallerBody, [], undefined)),
    }),
  );

  routes.add(lines.deleteOwnVideo, async ({ params, caller }) => {
    const task = await store.ofUser(params.task_id, caller.userId);
    if (task === undefined) throw notExist('task');
    if (!(await store.markDeleted(task.id, clock.now())))
      throw new AppError('task_not_completed', { params: { status: task.status } });
    removals.begin(task);
    return done();
  });
}

/** An answer kept for a repeated key may be of the submit's public form, which names the id twice. */
function readId(answer: Json): string {
  const { id, task_id } = answer as { readonly id?: string; readonly task_id?: string };
  return id ?? task_id ?? '';
}
