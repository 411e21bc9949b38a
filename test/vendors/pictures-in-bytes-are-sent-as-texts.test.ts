import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { TextInBytes } from '../../src/server/platform/long-text.ts';
import { UnsupportedRequestError } from '../../src/server/upstreams/vendor-errors.ts';
import type { MediaInput } from '../../src/server/vendors/adapter.ts';
import { sandboxContext, videoRequest } from './adapter-context.ts';
import { CONTRACT_CASES } from './load-adapter-contract-cases.ts';

const bytes = Buffer.concat([loadMedia('picture.png').bytes, Buffer.alloc(90_000, 'picture')]);
const base64 = bytes.toString('base64');
const mimeType = 'image/png';
const asText: MediaInput = { kind: 'base64', data: base64, mimeType };
const asBytes: MediaInput = { kind: 'base64', data: new TextInBytes(Buffer.from(base64)), mimeType };
const asFile: MediaInput = { kind: 'file', bytes, mimeType, filename: 'a.png' };

for (const { vendor, simulator } of CONTRACT_CASES) {
  test(`a large picture reaches ${vendor.title} the same from a text, from bytes and from a file, by ${simulator.name}`, async () => {
    const sandbox = await startSandbox({ simulators: [simulator] });
    after(() => sandbox.stop());
    const context = sandboxContext(sandbox, simulator.name, { timeoutMs: 30_000 });
    /** Bodies the vendor got; undefined for a request it was spared. */
    const sent = async (model: string, picture: MediaInput, count: number): Promise<string[] | undefined> => {
      const before = new Set(sandbox.control.requests());
      const images = Array.from({ length: count }, () => picture);
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
        const expected = await sent(model, asText, count);
        if (expected === undefined || expected.length === 0) continue;
        assert.equal(expected[0]?.split(base64).length, count + 1);
        assert.deepEqual(await sent(model, asBytes, count), expected, `${model}, ${count} in bytes`);
        compared += 1;
        // Sora takes files as files.
        if (vendor.name !== 'sora') assert.deepEqual(await sent(model, asFile, count), expected, `${model}, files`);
      }
    assert.ok(compared > 0, 'a model that takes pictures');
  });
}
