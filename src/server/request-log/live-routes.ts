import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { streamAllRequests, streamRequests } from '../../contract/request-log.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import { answerHeadRequest, beginEventStream } from '../platform/http/event-stream.ts';
import type { AccountCaller, RequestContext } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { LiveRequestLogSubscribers } from './live-request-log-subscribers.ts';
import { ownFilter, toFilter } from './parse-request-filter.ts';
import type { Present } from './presenter.ts';
import type { ListedRequest, RequestFilter } from './request-store.ts';

export interface LiveRouteDependencies {
  readonly liveViews: LiveRequestLogSubscribers;
  readonly credentialWatch: Pick<CredentialRevocationWatch, 'watch'>;
  readonly own: Present<object>;
  readonly all: Present<object>;
}

interface StreamInput {
  readonly caller: AccountCaller;
  readonly request: RequestContext;
  readonly reply: FastifyReply;
}

/** A reader that does not read is disconnected, because its events would accumulate in memory. */
const MAX_UNSENT_BYTES = 1024 * 1024;

/** The live views of the request log. */
export function addLiveRoutes(
  routes: RouteRegistry,
  { liveViews, credentialWatch, own, all }: LiveRouteDependencies,
): void {
  const stream = async (
    filter: RequestFilter,
    { caller, request, reply }: StreamInput,
    present: Present<object>,
  ): Promise<FastifyReply> => {
    if (answerHeadRequest(reply)) return reply;
    liveViews.assertCapacity(caller.userId);
    const ended = beginEventStream(reply, {
      disconnected: request.disconnected,
      watchAccess: (onEnd) => credentialWatch.watch(caller, onEnd),
    });
    const { raw } = reply;
    write(raw, ': open\n\n');
    // The client reconnects; its status has been sent, so no error can be.
    const fail = (error: unknown): void => {
      request.log.warn({ err: error, requestId: request.id }, 'a live view of the request log failed');
      raw.end();
    };
    const listener = {
      userId: caller.userId,
      filter,
      send: (rows: readonly ListedRequest[]) =>
        void present(rows).then((shown) => write(raw, shown.map(toEvent).join('')), fail),
      keepAlive: () => write(raw, ': keep-alive\n\n'),
      end: () => void raw.end(),
    };
    const close = await liveViews.open(listener).catch(fail);
    if (close === undefined) return reply;
    const end = (): void => {
      close();
      raw.end();
    };
    if (ended.aborted) end();
    else ended.addEventListener('abort', end, { once: true });
    return reply;
  };
  routes.add(streamRequests, (input) => stream(ownFilter(input.query, input.caller), input, own));
  routes.add(streamAllRequests, (input) => stream(toFilter(input.query), input, all));
}

const toEvent = (row: object): string => `event: request\ndata: ${JSON.stringify(row)}\n\n`;

function write(response: ServerResponse, text: string): void {
  if (response.writableEnded || response.destroyed) return;
  if (response.writableLength > MAX_UNSENT_BYTES) response.destroy();
  else response.write(text);
}
