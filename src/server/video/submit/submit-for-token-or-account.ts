import { PICTURE_FIELDS } from '../../../contract/video.ts';
import type { ModelCaller, RequestContext } from '../../platform/http/request-context.ts';
import { toIdempotencyClaim } from '../idempotency/idempotency-key-and-request-hash.ts';
import type { Task } from '../task-store.ts';
import type { GenerationRequest } from './generation-request.ts';
import type { SubmitService } from './submit-service.ts';
import type { SubmitResult } from './submitted-task-and-vendor-response.ts';

const isPictureField = (field: string): boolean => (PICTURE_FIELDS as readonly string[]).includes(field);

/**
 * Submits for a token, once where the request carries an Idempotency-Key. Two requests are the same when they remix the same
 * video, call the same operation of the same vendor, and have the same body, byte for byte, or the same form.
 */
export function submitForToken(
  submitter: SubmitService,
  caller: ModelCaller,
  generation: GenerationRequest,
  request: RequestContext,
  remixOf?: Task,
): Promise<SubmitResult> {
  const idempotency = toIdempotencyClaim(caller.tokenId, request.headers['idempotency-key'], () => [
    JSON.stringify([remixOf?.public_id, generation.officialVendor, generation.officialOperation]),
    request.rawBody ?? JSON.stringify(generation.body),
    // The parts of other fields say by their names what they are.
    ...request.files.flatMap(({ field, bytes }) => (isPictureField(field) ? [bytes] : [field, bytes])),
  ]);
  return submitter.submit(caller, generation, {
    idempotency,
    remixOf,
    client: request.headers['user-agent'],
    addHeaders: (headers) => request.setResponseHeaders(headers),
  });
}

/** Submits for a person in the console: on the account itself, without a token and its limits. */
export function submitForAccount(
  submitter: SubmitService,
  userId: number,
  generation: GenerationRequest,
  request: RequestContext,
): Promise<SubmitResult> {
  // Tokens have positive ids, so the negative of the account's id is a scope of its own.
  const idempotency = toIdempotencyClaim(-userId, request.headers['idempotency-key'], () => [
    request.rawBody ?? JSON.stringify(generation.body),
  ]);
  const client = request.headers['user-agent'];
  return submitter.submit({ userId, models: [] }, generation, {
    idempotency,
    client,
    addHeaders: (headers) => request.setResponseHeaders(headers),
  });
}
