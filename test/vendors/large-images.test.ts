import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { UnsupportedRequestError } from '../../src/server/upstreams/upstream.ts';
import type { MediaInput } from '../../src/server/vendors/adapter.ts';
import { sandboxContext, videoRequest } from './adapter-context.ts';
import { CONTRACT_CASES } from './load-contract-cases.ts';

const bytes = Buffer.concat([loadMedia('image.png').bytes, Buffer.alloc(90_000, 'image')]);
const base64 = bytes.toString('base64');
const inJson: MediaInput = { bytes, mediaType: 'image/png' };
const asFile: MediaInput = { ...inJson, filename: 'a.png' };

for (const { vendor, simulator } of CONTRACT_CASES) {
  test(`a large image reaches ${vendor.title} as its Base64 from JSON and from an upload, by ${simulator.name}`, async () => {
    const sandbox = await startSandbox({ simulators: [simulator] });
    after(() => sandbox.stop());
    const context = sandboxContext(sandbox, simulator.name, { timeoutMs: 30_000 });
    /** Bodies the vendor received; undefined for a request that was refused before it was sent. */
    const sent = async (model: string, image: MediaInput, count: number): Promise<string[] | undefined> => {
      const before = new Set(sandbox.control.requests());
      const images = Array.from({ length: count }, () => image);
      try {
        await vendor.submit(videoRequest({ model, taskId: `task_${model}_${count}`, images }), context);
      } catch (error) {
        if (!(error instanceof UnsupportedRequestError)) throw error;
        return undefined;
      }
      const requests = sandbox.control.requests().filter((request) => !before.has(request));
      return requests.map(({ body }) => String(body)).filter((body) => body.includes(base64.slice(0, 99)));
    };
    let compared = 0;
    for (const { id: model, images } of vendor.models)
      for (let count = 1; count <= Math.min(images.max, 3); count++) {
        const expected = await sent(model, inJson, count);
        if (expected === undefined || expected.length === 0) continue;
        assert.equal(expected[0]?.split(base64).length, count + 1);
        compared += 1;
        // Sora accepts files as uploads.
        if (vendor.name !== 'sora') assert.deepEqual(await sent(model, asFile, count), expected, `${model}, files`);
      }
    assert.ok(compared > 0, 'a model that takes images');
  });
}
