import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import * as endpoints from '../../contract/batches.ts';
import { envelopeOfPath } from '../../contract/endpoint.ts';
import { ok } from '../../contract/responses.ts';
import { toErrorResponse } from '../platform/http/error-responses.ts';
import {
  type AccountCaller,
  type Authenticator,
  type ModelCaller,
  ownerOf,
  promptReaderOf,
  type RouteRegistry,
} from '../platform/http/route-registry.ts';
import { tryParse } from '../platform/json.ts';
import { randomText } from '../platform/tokens.ts';
import type { BatchOwner } from './batch-service.ts';
import type { CallResponse, LineCall } from './line-sender.ts';
import type { Batches } from './module.ts';

/** Registers OpenAI's Batch API for keys, and the same for the console. */
export function addBatchRoutes(routes: RouteRegistry, { service, sheets }: Pick<Batches, 'service' | 'sheets'>): void {
  routes.add(endpoints.createBatch, ({ caller, body }) => service.create(caller, body));
  routes.add(endpoints.listBatches, ({ caller, query }) => service.list(caller, query));
  routes.add(endpoints.getBatch, ({ caller, params }) => service.get(caller, params.batch_id));
  routes.add(endpoints.cancelBatch, ({ caller, params }) => service.cancel(caller, params.batch_id));
  routes.add(endpoints.pauseBatch, ({ caller, params }) => service.pause(caller, params.batch_id));
  routes.add(endpoints.resumeBatch, ({ caller, params }) => service.resume(caller, params.batch_id));
  routes.add(endpoints.retryBatch, ({ caller, params }) => service.retry(caller, params.batch_id));

  const self = (caller: AccountCaller): BatchOwner => ({ ...ownerOf(caller), tokenId: 0 });
  routes.add(endpoints.createOwnBatch, async ({ caller, body }) => ok(await service.create(self(caller), body)));
  routes.add(endpoints.listOwnBatches, async ({ caller, query }) =>
    ok(await service.list(promptReaderOf(caller), query)),
  );
  routes.add(endpoints.getOwnBatch, async ({ caller, params }) =>
    ok(await service.get(promptReaderOf(caller), params.batch_id)),
  );
  for (const [line, change] of [
    [endpoints.cancelOwnBatch, 'cancel'],
    [endpoints.pauseOwnBatch, 'pause'],
    [endpoints.resumeOwnBatch, 'resume'],
  ] as const)
    routes.add(line, async ({ caller, params }) => ok(await service[change](promptReaderOf(caller), params.batch_id)));
  routes.add(endpoints.retryOwnBatch, async ({ caller, params }) =>
    ok(await service.retry(self(caller), params.batch_id, promptReaderOf(caller))),
  );
  routes.add(endpoints.createSheetBatch, async ({ caller, body, request }) =>
    ok(await sheets.check(self(caller), body, request.locale)),
  );
  routes.add(endpoints.listOwnBatchLines, async ({ caller, params, query }) => {
    const batch = await service.find(promptReaderOf(caller), params.batch_id);
    return ok(await sheets.lines(batch, Number(query.after ?? '0'), query.state));
  });
  routes.add(endpoints.exportOwnBatch, async ({ caller, params, reply }) => {
    const batch = await service.find(promptReaderOf(caller), params.batch_id);
    return reply
      .header('content-type', 'text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${batch.id}.csv"`)
      .header('cache-control', 'no-store')
      .send(Readable.from(sheets.results(batch)));
  });
}

/** Renders an error as the response of an endpoint. */
export function renderLineError(path: string, error: unknown, requestId: string) {
  const { status, body } = toErrorResponse(error, envelopeOfPath(path), 'en', requestId, { isOpenAiSdk: true });
  return { status, requestId, body: tryParse(body) };
}

/**
 * Sends the model calls of batches through the service's own endpoints, so that everything that holds for a request
 * holds for a line. A call authenticates by a ticket: a random text that exists in this process only, while the call
 * lasts.
 */
export class LineCalls {
  readonly #tickets = new Map<string, BatchOwner>();
  readonly #callerOf: (owner: BatchOwner) => Promise<ModelCaller>;

  constructor(callerOf: (owner: BatchOwner) => Promise<ModelCaller>) {
    this.#callerOf = callerOf;
  }

  /** An authenticator that knows the tickets of calls in progress. */
  wrap(authenticator: Authenticator): Authenticator {
    return {
      account: (...credentials) => authenticator.account(...credentials),
      model: async (credentials, policy) => {
        const payer = this.#tickets.get(credentials.headers.authorization ?? '');
        return payer === undefined ? authenticator.model(credentials, policy) : this.#callerOf(payer);
      },
    };
  }

  /** Sends one call and waits for its whole response. */
  async send(fastify: FastifyInstance, { path, body, requestId, payer }: LineCall): Promise<CallResponse> {
    const ticket = `Bearer ${randomText(40)}`;
    this.#tickets.set(ticket, payer);
    try {
      const response = await fastify.inject({
        method: 'POST',
        url: path,
        payload: body,
        headers: {
          'content-type': 'application/json',
          authorization: ticket,
          'x-request-id': requestId,
          'user-agent': endpoints.BATCH_CLIENT,
        },
      });
      const after = Number(response.headers['retry-after']);
      return {
        status: response.statusCode,
        requestId,
        body: tryParse(response.body) ?? response.body,
        retryAfterSeconds: Number.isFinite(after) ? after : undefined,
      };
    } finally {
      this.#tickets.delete(ticket);
    }
  }
}
