import type { IncomingMessage, ServerResponse } from 'node:http';
import * as lines from '../../contract/chat.ts';
import { AppError } from '../platform/errors.ts';
import { readJsonBody } from '../platform/http/body.ts';
import type { Authenticator } from '../platform/http/caller.ts';
import type { Http } from '../platform/http/server.ts';
import { readAsk } from './ask.ts';
import { Client } from './client.ts';
import { CHAT, type Dialect, EMBEDDINGS, IMAGES, RESPONSES } from './dialects.ts';
import type { Relay } from './relay.ts';

const ROUTES = [
  [lines.chatCompletions, CHAT],
  [lines.chatCompletionsV2, CHAT],
  [lines.responses, RESPONSES],
  [lines.embeddings, EMBEDDINGS],
  [lines.imageGenerations, IMAGES],
] as const;

const BY_PATH: ReadonlyMap<string, Dialect> = new Map(ROUTES.map(([{ path }, dialect]) => [path, dialect]));

/**
 * Hangs model calls in two places: a lane for plain requests, which are nearly all, and Fastify's routes for whatever is
 * spelled in another way or refused for its form (queries, content types, sizes), so that those rules have one home.
 */
export function addChatRoutes(http: Http, relay: Relay, authenticator: Authenticator, stopping: AbortSignal): void {
  const { routes, tools } = http;
  for (const [line, dialect] of ROUTES) {
    routes.add(line, async ({ body, caller, request, reply }) => {
      const ask = readAsk(dialect, request.rawBody ?? Buffer.alloc(0), body);
      const client = new Client(reply.request.raw, reply.raw, request.id, tools);
      reply.hijack();
      await relay.serve(caller, ask, client).catch((error: unknown) => client.fail(error, dialect));
      return reply;
    });
  }

  const serve = async (request: IncomingMessage, response: ServerResponse, dialect: Dialect): Promise<void> => {
    const begunAt = performance.now();
    const client = new Client(request, response, tools.requestId(request), tools);
    response.once('close', () => {
      tools.answered(request.url ?? '', 'POST', response.statusCode, (performance.now() - begunAt) / 1_000);
    });
    try {
      // Nobody's body is read before the caller is known.
      const caller = await authenticator.model({ headers: request.headers, session: undefined, address: '' });
      const bytes = await readBody(request);
      if (bytes === undefined) return;
      await relay.serve(caller, readAsk(dialect, bytes, readJsonBody(bytes)), client);
    } catch (error) {
      client.fail(error, dialect);
    }
  };

  http.addFastLane((request, response) => {
    const dialect = request.method === 'POST' ? BY_PATH.get(request.url ?? '') : undefined;
    if (dialect === undefined || !isPlain(request) || tools.isCrossSite(request)) return false;
    // Fastify turns away whoever comes now; a connection kept busy would never see its end here.
    if (stopping.aborted) return false;
    void serve(request, response, dialect);
    return true;
  });
}

/** JSON of a known and permitted size. */
function isPlain({ headers }: IncomingMessage): boolean {
  const { 'content-type': type, 'content-length': length } = headers;
  if (type !== 'application/json' && type !== 'application/json; charset=utf-8') return false;
  if (headers['content-encoding'] !== undefined || headers.expect !== undefined || length === undefined) return false;
  return Number(length) > 0 && Number(length) <= lines.CHAT_BODY_LIMIT;
}

/** The body, or undefined when its sender went away. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    request.once('error', (error) =>
      request.destroyed && !request.complete
        ? resolve(undefined)
        : reject(new AppError('invalid_json', { cause: error })),
    );
  });
}
