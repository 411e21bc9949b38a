import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import * as lines from '../../contract/video.ts';
import type { Channels } from '../channels/channels.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, invalid } from '../platform/errors.ts';
import type { ModelCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Allowances } from '../quota/quota.ts';
import type { Content, Contents } from './content.ts';
import { jimengWish, klingWish } from './faces/official.ts';
import { toSubmitAnswer, toVideoObject } from './faces/openai.ts';
import { toUnified } from './faces/unified.ts';
import type { Idempotency } from './idempotency.ts';
import type { TaskReader } from './reader.ts';
import type { Removals } from './removals.ts';
import { type CallerBody, readWish, type Wish } from './requests.ts';
import type { Task, TaskStore } from './store.ts';
import type { Submitter } from './submit.ts';
import type { Vendors } from './vendors.ts';

export interface VideoRouteParts {
  readonly submitter: Submitter;
  readonly idempotency: Idempotency;
  readonly reader: TaskReader;
  readonly contents: Contents;
  readonly store: TaskStore;
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly allowances: Pick<Allowances, 'permittedModels'>;
  readonly removals: Removals;
  readonly clock: Clock;
  readonly baseUrl: string;
}

/** The model and video addresses for `sk-` tokens and llm_tokens. */
export function addVideoRoutes(routes: Routes, parts: VideoRouteParts): void {
  const { submitter, reader, contents, store } = parts;

  const submit = async (caller: ModelCaller, wish: Wish, request: RequestContext, remixOf?: Task) => {
    const run = async (alongside?: Parameters<Parameters<Idempotency['once']>[3]>[0]) =>
      toSubmitAnswer(
        await submitter.submit(caller, wish, {
          ...(alongside === undefined ? {} : { alongside }),
          ...(remixOf === undefined ? {} : { remixOf }),
        }),
      );
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string') return run();
    return parts.idempotency.once(caller.tokenId, key, whatIsAsked(request, wish, remixOf), run);
  };
  const unified = (task: Task) => ({
    code: 'success' as const,
    message: '',
    data: toUnified(task, contentUrl(parts.baseUrl, task)),
  });
  const own = async (caller: ModelCaller, id: string): Promise<Task> => reader.own(caller, id);

  routes.add(lines.submitGeneration, ({ body, caller, request }) =>
    submit(caller, readWish(body as CallerBody, request.files, undefined), request),
  );
  routes.add(lines.submitVideo, ({ body, caller, request }) =>
    submit(caller, readWish(body as CallerBody, request.files, 'sora-2'), request),
  );
  routes.add(lines.getGeneration, async ({ params, caller }) => unified(await own(caller, params.task_id)));
  routes.add(lines.getVideo, async ({ params, caller }) => toVideoObject(await own(caller, params.task_id)));

  routes.add(lines.listVideos, async ({ query, caller }) => {
    const limit = Number(query.limit ?? '20');
    if (!/^\d{1,3}$/.test(query.limit ?? '20') || limit < 1 || limit > 100)
      throw invalid('limit must be from 1 to 100.', 'limit');
    const order = query.order ?? 'desc';
    if (order !== 'asc' && order !== 'desc') throw invalid('order must be asc or desc.', 'order');
    const found = await store.listOfToken(caller.tokenId, query.after, limit, order);
    const page = found.slice(0, limit);
    return {
      object: 'list' as const,
      data: page.map(toVideoObject),
      first_id: page[0]?.public_id ?? null,
      last_id: page.at(-1)?.public_id ?? null,
      has_more: found.length > limit,
    };
  });

  routes.add(lines.deleteVideo, async ({ params, caller }) => {
    const task = await own(caller, params.task_id);
    if (!(await store.markDeleted(task.id, parts.clock.now())))
      throw new AppError('task_not_completed', { params: { status: task.status } });
    parts.removals.begin(task);
    return { id: task.public_id, object: 'video.deleted' as const, deleted: true as const };
  });

  routes.add(lines.remixVideo, async ({ params, body, caller, request }) => {
    const prompt = body.prompt?.trim() ?? '';
    if (prompt === '') throw invalid('prompt is required.', 'prompt');
    const origin = await own(caller, params.task_id);
    const vendor = parts.vendors.get(origin.vendor);
    if (vendor.remix === undefined || origin.status !== 'SUCCESS') throw new AppError('remix_unsupported');
    return submit(caller, remixWish(origin, prompt), request, origin);
  });

  routes.add(lines.getContent, async ({ params, query, caller, request, reply }) => {
    const task = await store.own(params.task_id, caller.tokenId);
    if (task === undefined) throw new AppError('content_not_found');
    return sendContent(reply, await contents.open(await reader.fresh(task), wishOf(request, query.variant)));
  });

  routes.add(lines.klingText, ({ body, caller, request }) => submit(caller, klingWish(body, 'text'), request));
  routes.add(lines.klingImage, ({ body, caller, request }) => submit(caller, klingWish(body, 'image'), request));
  routes.add(lines.klingTextQuery, async ({ params, caller }) => unified(await own(caller, params.task_id)));
  routes.add(lines.klingImageQuery, async ({ params, caller }) => unified(await own(caller, params.task_id)));
  routes.add(lines.jimengAction, async ({ query, body, caller, request }) => {
    if (query.Version !== undefined && query.Version !== '2022-08-31')
      throw invalid('Version must be 2022-08-31.', 'Version');
    if (query.Action === 'CVSync2AsyncSubmitTask') return submit(caller, jimengWish(body), request);
    if (query.Action !== 'CVSync2AsyncGetResult')
      throw invalid('Action must be CVSync2AsyncSubmitTask or CVSync2AsyncGetResult.', 'Action');
    if (typeof body.task_id !== 'string') throw invalid('task_id is required.', 'task_id');
    return unified(await own(caller, body.task_id));
  });

  const callable = async (caller: ModelCaller) => {
    const permitted = await parts.allowances.permittedModels(caller.userId);
    const models = await parts.channels.listModels();
    return models
      .filter(
        ({ id }) =>
          (caller.models.length === 0 || caller.models.includes(id)) && (permitted === undefined || permitted.has(id)),
      )
      .map(({ id, vendor, createdAt }) => ({
        id,
        object: 'model' as const,
        created: Math.floor(createdAt / 1000),
        owned_by: vendor,
      }));
  };
  routes.add(lines.listModels, async ({ caller }) => ({ object: 'list' as const, data: await callable(caller) }));
  routes.add(lines.getModel, async ({ caller, params }) => {
    const found = (await callable(caller)).find(({ id }) => id === params.model);
    if (found === undefined) throw new AppError('model_not_found', { params: { model: params.model }, param: 'model' });
    return found;
  });
}

export const contentUrl = (baseUrl: string, task: Pick<Task, 'public_id'>): string =>
  `${baseUrl}/v1/videos/${encodeURIComponent(task.public_id)}/content`;

export const wishOf = (request: RequestContext, variant: string | undefined) => ({
  ...(typeof request.headers.range === 'string' ? { range: request.headers.range } : {}),
  ...(typeof request.headers['if-range'] === 'string' ? { ifRange: request.headers['if-range'] } : {}),
  ...(variant === undefined ? {} : { variant }),
  signal: request.gone,
});

/** A reader who takes nothing for so long gives up its place at the storage host, of which there are few for all. */
const STALL_MS = 60_000;

/** HEAD gets the headers of what GET would send; vendors' signed addresses often permit GET alone. */
export function sendContent(reply: FastifyReply, content: Content, stallMs = STALL_MS): FastifyReply {
  const { status, headers, body } = content;
  void reply.status(status).headers(headers);
  if (reply.request.method !== 'HEAD') {
    reply.raw.setTimeout(stallMs, () => reply.raw.destroy());
    return reply.send(body);
  }
  body.destroy();
  // An empty stream, since an absent body would be announced as one of length 0.
  return reply.send(Readable.from([]));
}

/** What a repeated submit is compared by: what it remixes, the vendor's operation, and the very bytes or form. */
function whatIsAsked(request: RequestContext, wish: Wish, remixOf: Task | undefined): Buffer {
  const target = JSON.stringify([remixOf?.public_id, wish.officialOf, wish.officialOperation]);
  const body = request.rawBody ?? Buffer.from(JSON.stringify(wish.body));
  return Buffer.concat([Buffer.from(target), body, ...request.files.map(({ bytes }) => bytes)]);
}

/** A remix is as long and as large as its original; both stay on record for a remix of the remix. */
function remixWish(origin: Task, prompt: string): Wish {
  const { duration, seconds: text, size } = JSON.parse(origin.request) as CallerBody;
  const seconds = duration ?? (text === undefined ? undefined : Number(text));
  return {
    model: origin.model,
    prompt,
    images: [],
    ...(seconds === undefined ? {} : { seconds }),
    ...(size === undefined ? {} : { size }),
    metadata: {},
    body: {
      prompt,
      ...(seconds === undefined ? {} : { duration: seconds }),
      ...(size === undefined ? {} : { size }),
    },
  };
}
