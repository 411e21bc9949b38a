import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NO_IMAGES } from '../platform/json.ts';
import { parseGenerationRequest } from './generation-request.ts';
import { submitForAccount } from './submit.ts';

it('keeps an Idempotency-Key of the console to the member of an organization who sent it', async () => {
  const generation = parseGenerationRequest({ model: 'm' }, { files: [], bodyImages: NO_IMAGES }, undefined);
  const request = { headers: { 'idempotency-key': 'k' }, rawBody: undefined, setResponseHeaders: () => {} };
  const claimOf = async (owner: { readonly userId: number; readonly actorId?: number }) => {
    let claimed = '';
    const submit: Parameters<typeof submitForAccount>[0]['submit'] = async (_caller, _generation, options) => {
      claimed = `${options?.idempotency?.scope} ${options?.idempotency?.key}`;
      throw new Error('the claim is all that is needed');
    };
    await assert.rejects(submitForAccount({ submit }, owner, generation, request), /the claim/);
    return claimed;
  };
  assert.equal(await claimOf({ userId: 7 }), '-7 k');
  const [one, other] = [await claimOf({ userId: 7, actorId: 1 }), await claimOf({ userId: 7, actorId: 2 })];
  assert.equal(new Set([one, other, '-7 k', await claimOf({ userId: 1 })]).size, 4);
});
