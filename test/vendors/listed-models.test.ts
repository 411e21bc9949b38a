import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { seededRandom } from '../seeded-random.ts';
import { inputsOf, type ListedModel, listedBody, waysOf } from './listed-requests.ts';
import { type ListedService, send, startListedService } from './listed-service.ts';
import { accept, type ListedWalk, refuse, unlistedOf, walkListed } from './listed-walk.ts';
import { mp4Of } from './media-samples.ts';

/**
 * The product contract over `GET /v1/videos/models`: whatever a model lists is quoted, reserved at the quoted price and
 * accepted by its vendor's simulator, and anything else is refused before anything is reserved. A new model is covered
 * by being listed. `input-ways.test.ts` sends every single combination to the simulators.
 */
const RANDOM_REQUESTS = Number(process.env.LISTED_REQUESTS ?? '75');
const SEED = Number(process.env.LISTED_SEED ?? '20261128');
/** `npm run hammer` sends the whole product instead of a sample. */
const IS_WHOLE = process.env.LISTED_PRODUCT === 'whole';
/** Simulators, and models that neither they nor the adapters list. */
const BY_NAME = [
  ['kling', 'kling-v4-0'],
  ['jimeng', 'jimeng_v40'],
  ['hailuo', 'MiniMax-Hailuo-3'],
  ['seedance', 'doubao-seedance-3-0-270101'],
  ['wan', 'wan3.0-video-prime-pro'],
  ['veo-omni', 'gemini-omni-2-flash'],
  ['vidu', 'viduq4-preview'],
  ['sora', 'sora-3'],
  ['runway', 'gen5'],
  ['xai', 'grok-imagine-video-1.5-lite'],
] as const;

/** Walks a share of the whole product in a process of its own. */
async function walkShare(share: number, shares: number): Promise<ListedWalk> {
  const program = join(import.meta.dirname, 'listed-product.fixture.ts');
  const child = spawn(process.execPath, ['--max-semi-space-size=64', program, ...[share, shares, SEED].map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, WITHOUT_TEST_RUNNER: '1' },
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.equal(code, 0, `share ${share} of ${shares}`);
  return JSON.parse(output) as ListedWalk;
}

describe('listed models', () => {
  forEachDatabase((name, _open, freshUrl) => {
    // The requests are the same on both databases; reservations have tests of their own on the other one.
    if (name !== 'sqlite') return;
    let service: ListedService;
    before(async () => {
      service = await startListedService(await freshUrl());
    });
    after(() => service.stop());
    const random = seededRandom(SEED);

    if (IS_WHOLE)
      it('quotes, reserves and accepts all that models list, and refuses the rest', async () => {
        const shares = availableParallelism();
        const walks = await Promise.all(Array.from({ length: shares }, (_, share) => walkShare(share, shares)));
        for (const { name: vendor, title } of VENDOR_ADAPTERS) {
          const own = walks.flatMap(({ counts }) => counts[vendor] ?? []);
          const sum = (key: 'accepted' | 'refused') => own.reduce((total, count) => total + count[key], 0);
          console.log(`${title}: ${sum('accepted')} combinations accepted, ${sum('refused')} others refused`);
          assert.ok(sum('accepted') > 0 && sum('refused') > 0);
        }
        assert.deepEqual(
          walks.flatMap(({ problems }) => problems),
          [],
        );
        for (const { quoted, reserved } of walks) assert.equal(reserved, quoted);
      });
    else
      for (const { name: vendor, title, models } of VENDOR_ADAPTERS)
        it(`quotes, reserves and accepts what models of ${title} list, and refuses the rest`, async () => {
          const listed = service.models.filter((model) => model.vendor === vendor);
          assert.equal(listed.length, models.length);
          const { quoted, reserved, problems } = await walkListed(service, listed, { random, isWhole: false });
          assert.deepEqual(problems.slice(0, 20), []);
          assert.equal(reserved, quoted);
        });

    it('uploads a large file to a vendor that cannot reach this service', async () => {
      const file = await service.upload('large.mp4', mp4Of(3, 6_000_000));
      const body = {
        model: 'aleph2',
        operation: 'edit',
        prompt: 'in snow',
        inputs: [{ type: 'video', file_id: file }],
      };
      for (const _ of [1, 2]) assert.equal((await send(service.caller, '/v1/videos', body)).status, 200);
      const requests = service.sandbox.control.requests().filter(({ vendor }) => vendor === 'runway');
      assert.equal(requests.filter(({ path }) => path === '/v1/uploads').length, 1);
      const sent = requests.filter(({ path }) => path === '/v1/video_to_video').slice(-2);
      for (const { body: bytes } of sent) assert.match(bytes.toString(), /"videoUri":"runway:\/\//);
      const data = `data:video/mp4;base64,${mp4Of(3, 6_000_001).toString('base64')}`;
      const inline = { ...body, inputs: [{ type: 'video', data }] };
      assert.equal((await send(service.caller, '/v1/videos', inline)).status, 200);
    });

    it('names metadata that the model does not have', async () => {
      const body = { model: 'hailuo3', prompt: 'a boat', metadata: { seed: 7, base_url: 'https://canary.example' } };
      const { headers } = await service.caller.request('POST', '/v1/videos/quote', body);
      assert.equal(headers.get('x-reelgate-dropped'), 'metadata.base_url, metadata.seed');
    });

    it('names a size that has no effect beside a first frame, and refuses an invalid one all the same', async () => {
      const inputs = [{ type: 'image', role: 'first_frame', file_id: service.uploads.image }];
      const droppedOf = async (more: object, path = '/v1/videos') => {
        const body = { prompt: 'a boat', size: '720x1280', ...more };
        const { status, headers } = await service.caller.request('POST', path, body);
        return [status, headers.get('x-reelgate-dropped')];
      };
      for (const path of ['/v1/videos', '/v1/video/generations', '/v1/videos/quote']) {
        assert.deepEqual(await droppedOf({ model: 'kling-v3-turbo', inputs }, path), [200, 'size']);
        assert.deepEqual(await droppedOf({ model: 'kling-v3-turbo' }, path), [200, null]);
        assert.deepEqual(await droppedOf({ model: 'kling-v3', inputs }, path), [200, null]);
      }
      assert.deepEqual(await droppedOf({ model: 'wan2.6-i2v', inputs }), [200, null], 'it names the resolution');
      const { status } = await send(service.caller, '/v1/videos', {
        model: 'kling-v3-turbo',
        prompt: 'a',
        size: '7x1',
        inputs,
      });
      assert.equal(status, 400);
    });

    it('describes, prices and sends a model that was added by its name alone, at every vendor', async () => {
      const problems: string[] = [];
      const vendors = new Set<string>();
      for (const [simulator, id] of BY_NAME) {
        const vendor = simulator.replace(/-.*/, '');
        vendors.add(vendor);
        const price = { per_call: 1_000, per_second: 0 };
        await service.operator.requestData('POST', '/api/admin/models', { id, vendor, kind: 'video', price });
        await service.addChannel(simulator, [id]);
        const { body } = await service.caller.request('GET', `/v1/videos/models/${id}`);
        const model = body as unknown as ListedModel;
        const ways = waysOf(model);
        assert.deepEqual([model.seconds, model.resolutions, ways.length > 0], [{}, [], true], id);
        assert.deepEqual(
          model.operations.filter((each) => each !== 'remix'),
          [...new Set(ways.map((way) => way.operation))],
        );
        const before = await service.balance();
        for (const way of ways)
          for (const counts of ['min', 'max'] as const) {
            const inputs = inputsOf(way, service.uploads, counts);
            await accept(service, { model: id, prompt: 'a boat', operation: way.operation, inputs }, problems);
          }
        assert.equal(before - (await service.balance()), 2_000 * ways.length, id);
        await refuse(service, [{ model: id, prompt: 'a boat', mode: 'no-such-mode' }, /^mode$/], problems);
        const mask = { type: 'image', role: 'mask', file_id: service.uploads.image };
        await refuse(service, [{ model: id, prompt: 'a boat', inputs: [mask] }, /^inputs\[0\]\.role$/], problems);
        assert.equal(before - (await service.balance()), 2_000 * ways.length, id);
      }
      assert.deepEqual(problems, []);
      assert.deepEqual([...vendors].sort(), VENDOR_ADAPTERS.map(({ name: each }) => each).sort());
    });

    it('answers random requests over all models, listed and unlisted', async () => {
      const problems: string[] = [];
      const before = await service.balance();
      const counts = { accepted: 0, refused: 0, quoted: 0 };
      for (let sent = 0; sent < RANDOM_REQUESTS; sent += 1) {
        const model = service.models[Math.floor(random() * service.models.length)] as ListedModel;
        const ways = waysOf(model);
        const way = ways[Math.floor(random() * ways.length)];
        if (way !== undefined && random() < 0.5) {
          const body = listedBody(model, way, service.uploads, { random, counts: random });
          counts.quoted += await accept(service, body, problems, { receipt: true });
          counts.accepted += 1;
        } else {
          const [first] = unlistedOf(model, service.uploads, random);
          if (first !== undefined) await refuse(service, first, problems);
          counts.refused += 1;
        }
      }
      console.log(`seed ${SEED}: ${counts.accepted} accepted, ${counts.refused} refused, ${counts.quoted} reserved`);
      assert.deepEqual(problems.slice(0, 20), []);
      assert.equal(before - (await service.balance()), counts.quoted);
    });
  });
});
