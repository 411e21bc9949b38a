import type { FastifyReply } from 'fastify';
import { putPoster } from '../../contract/own-videos.ts';
import { done } from '../../contract/responses.ts';
import { isTerminal } from '../../contract/task-states.ts';
import * as endpoints from '../../contract/video.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import type { Artifacts } from '../artifacts/module.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Caller, RequestContext, RouteRegistry } from '../platform/http/route-registry.ts';
import { sendFile, toFileRequest } from '../platform/http/streams.ts';
import {
  type AccelRedirect,
  type Content,
  type ContentDelivery,
  type PlayLinks,
  toAccelHeaders,
  VENDOR_CREDENTIAL,
} from './content.ts';
import type { RefreshingTaskReader } from './poller.ts';
import type { Task, TaskStore } from './task-store.ts';

interface ContentRouteDependencies {
  readonly store: TaskStore;
  readonly reader: RefreshingTaskReader;
  readonly contentDelivery: ContentDelivery;
  readonly playLinks: PlayLinks;
  readonly accelRedirect: AccelRedirect;
  readonly credentialWatch: CredentialRevocationWatch;
  readonly clock: Clock;
}

/** Registers the endpoint for a video's file, which requires the token that submitted the task or a play link. */
export function addContentRoutes(
  routes: RouteRegistry,
  { store, reader, contentDelivery, playLinks, accelRedirect, credentialWatch, clock }: ContentRouteDependencies,
): void {
  const sendFile = async (
    task: Task,
    caller: Caller | undefined,
    variant: string | undefined,
    { request, reply }: { readonly request: RequestContext; readonly reply: FastifyReply },
  ) => {
    const watchAccess = (onEnd: () => void) =>
      caller === undefined ? () => undefined : credentialWatch.watch(caller, onEnd);
    const acceptsPath = accelRedirect.accepts(request);
    const asked = { ...toFileRequest(request), variant, watchAccess, acceptsPath };
    return sendContent(reply, await contentDelivery.open(task, asked));
  };
  routes.add(endpoints.getContent, async ({ params, query, caller, request, reply }) => {
    const found = await store.findForToken(params.task_id, caller.tokenId);
    if (found === undefined) throw new AppError('content_not_found');
    // A finished video may be stored here; the vendor's URL matters only if it is not.
    const task = isTerminal(found.status) ? found : await reader.withCurrentState(found);
    return sendFile(task, caller, query.variant, { request, reply });
  });

  routes.add(endpoints.playVideo, async ({ params, query, request, reply }) => {
    const link = { taskId: params.task_id, expires: Number(query.expires), credential: query.credential };
    if (!playLinks.verify(link, query.signature, clock.now())) throw new AppError('play_link_expired');
    const task = await store.findByPublicId(link.taskId);
    if (task === undefined || task.deleted === 1) throw new AppError('content_not_found');
    if (link.credential === VENDOR_CREDENTIAL) return sendFile(task, undefined, query.variant, { request, reply });
    const caller = await credentialWatch.resolve(link.credential, task.user_id);
    if (caller === undefined) throw new AppError('forbidden');
    return sendFile(task, caller, query.variant, { request, reply });
  });
}

/** Sends a video's file, or lets the proxy in front send it. */
export function sendContent(reply: FastifyReply, content: Content, stallMs?: number): FastifyReply {
  const { headers, body, path } = content;
  if (path !== undefined && reply.request.method !== 'HEAD')
    return reply.status(200).headers(toAccelHeaders(path, headers)).send(body);
  return sendFile(reply, content, stallMs);
}

interface PosterRouteDependencies {
  readonly store: TaskStore;
  readonly artifacts: Artifacts;
}

/**
 * Registers the poster endpoints. The owner's browser extracts a frame and uploads it when neither the vendor nor
 * ffmpeg supplied a poster.
 */
export function addPosterRoutes(routes: RouteRegistry, { store, artifacts }: PosterRouteDependencies): void {
  routes.add(putPoster, async ({ params, body, caller }) => {
    const task = await store.findForUser(params.task_id, caller.userId);
    if (task === undefined) throw notExistError('task');
    if (task.status !== 'SUCCESS') throw new AppError('task_not_completed', { params: { status: task.status } });
    const outcome = await artifacts.putPoster(
      { taskId: task.id, userId: task.user_id },
      Buffer.from(body.image, 'base64'),
    );
    if (outcome === undefined) throw new AppError('unavailable');
    if (outcome === 'exists') throw new AppError('already_exists', { params: { what: 'poster' } });
    if (outcome === 'invalid')
      throw invalidRequest('image must be a whole still JPEG or WebP image of at most 256 KiB.', 'image');
    return done();
  });
}
