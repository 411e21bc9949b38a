import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type ErrorReason, UnsupportedRequestError } from '../../src/server/upstreams/upstream.ts';
import type { MediaInput } from '../../src/server/vendors/adapter.ts';
import { sandboxContext, videoRequest } from './adapter-context.ts';
import { CONTRACT_CASES } from './load-contract-cases.ts';

/** Reasons that disable a channel, or a model on it, after a single response. */
const RESTING: readonly (ErrorReason | undefined)[] = ['auth', 'billing', 'model'];
const image: MediaInput = {
  bytes: loadMedia('image.png').bytes,
  mediaType: 'image/png',
};

/**
 * Some vendors answer that a model does not exist when a request lacks a required image or has too many. Such a request
 * must be refused here: if it were sent, it would disable the model on that channel for all callers.
 */
for (const { vendor, simulator } of CONTRACT_CASES) {
  test(`an unsupported number of images does not disable a model of ${vendor.title} for others by ${simulator.name}`, async () => {
    const sandbox: Sandbox = await startSandbox({ simulators: [simulator] });
    after(() => sandbox.stop());
    const context = sandboxContext(sandbox, simulator.name, { timeoutMs: 30_000 });
    let accepted = 0;
    const resting: string[] = [];
    for (const { id: model, images } of vendor.models) {
      const reasons: (ErrorReason | undefined)[] = [];
      for (let count = 0; count <= images.max + 1; count += 1) {
        const taskId = `task_${model}_${count}`;
        const request = videoRequest({ model, taskId, images: Array.from({ length: count }, () => image) });
        try {
          const outcome = await vendor.submit(request, context);
          reasons.push(outcome.kind === 'refused' ? outcome.error.reason : undefined);
        } catch (error) {
          if (!(error instanceof UnsupportedRequestError)) throw error;
          reasons.push('user');
        }
      }
      // Models of the vendor's other route are not available on this one.
      if (!reasons.includes(undefined)) continue;
      accepted += 1;
      reasons.forEach((reason, count) => {
        if (RESTING.includes(reason)) resting.push(`${model} with ${count} images: ${reason}`);
      });
    }
    assert.deepEqual(resting, []);
    assert.ok(accepted > 0);
  });
}
