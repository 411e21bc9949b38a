import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import * as endpoints from '../../contract/video-inputs.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { VideoModels } from './video-models.ts';

/** Registers the list of video models with everything a request to them may contain. */
export function addVideoModelRoutes(routes: RouteRegistry, models: VideoModels): void {
  routes.add(endpoints.listVideoModels, async ({ caller, request, reply }) => {
    const body = { object: 'list' as const, data: await models.list(caller) };
    return unlessKnown(body, request.headers['if-none-match'], reply);
  });
  routes.add(endpoints.getVideoModel, async ({ caller, params: { model: id }, request, reply }) =>
    unlessKnown(await models.get(caller, id), request.headers['if-none-match'], reply),
  );
}

/** Sends 304 to a client that has the same data, by a weak ETag, because it may be sent compressed. */
function unlessKnown<T extends object>(body: T, known: string | undefined, reply: FastifyReply): T | FastifyReply {
  const etag = `W/"${hash('sha256', JSON.stringify(body), 'base64url')}"`;
  reply.headers({ etag, 'cache-control': 'private, no-cache' });
  return known === etag ? reply.status(304).send() : body;
}
