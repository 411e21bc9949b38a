import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { forOneDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import { ApiCaller, INITIAL_QUOTA, idOf, startVideoService, type VideoService } from './video-fixture.ts';

/** A channel to the other service: the path of its base URL, and the model there. */
interface Chain {
  readonly vendor: string;
  readonly path: string;
  readonly model: string;
  /** Default: the file is at a public URL of the vendor. */
  readonly needsKey?: true;
}

/** Every vendor format that the service serves itself. */
const CHAINS: readonly Chain[] = [
  { vendor: 'kling', path: '/kling', model: 'kling-v1-6' },
  { vendor: 'kling', path: '/kling/native', model: 'kling-v1-6' },
  { vendor: 'jimeng', path: '/jimeng', model: 'jimeng_t2v_v30' },
  { vendor: 'jimeng', path: '/jimeng/native', model: 'jimeng_t2v_v30' },
  { vendor: 'sora', path: '', model: 'sora-2', needsKey: true },
  { vendor: 'sora', path: '/v1', model: 'kling-v1-6' },
  { vendor: 'sora', path: '', model: 'veo-3.1-generate-preview', needsKey: true },
];
const MODELS = [...new Set(CHAINS.map(({ model }) => model))];

const gatewayPath = ({ path }: Chain): string => path || '/';

const PRICE = { per_call: 0, per_second: 1_000 };
const WRONG_KEY = 'sk-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL';

describe('a channel whose upstream is this service', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let gateway: VideoService;
    let front: SandboxService;
    let caller: ApiCaller;
    let key: string;
    before(async () => {
      const served = MODELS.map((model) => ({ name: /^[a-z]+/.exec(model)?.[0] ?? model, model }));
      gateway = await startVideoService(await freshUrl(), {}, served);
      front = await startSandboxService(await freshUrl());
      await front.operator.grantQuota(INITIAL_QUOTA);
      caller = new ApiCaller(front.baseUrl, await front.operator.makeToken());
      key = await gateway.operator.makeToken();
    });
    after(async () => {
      await front.stop();
      await gateway.stop();
    });

    /** Adds a model that only this channel serves, and the channel; returns whether its test succeeds. */
    async function connect({ vendor, path, model }: Chain, id: string, credential = key): Promise<boolean> {
      await front.operator.requestData('POST', '/api/admin/models', { id, vendor, kind: 'video', price: PRICE });
      const channel = {
        vendor,
        name: id,
        base_url: gateway.baseUrl + path,
        credentials: { api_key: credential },
        models: [id],
        model_mapping: { [id]: model },
      };
      const test = `/api/admin/channels/${await front.operator.addChannel(channel)}/test`;
      return (await front.operator.requestData<{ ok: boolean }>('POST', test)).ok;
    }
    it('kling at /, where only a sora channel works, fails its test', async () => {
      assert.equal(await connect({ vendor: 'kling', path: '', model: 'kling-v1-6' }, 'chained-root'), false);
    });

    const quotaOf = async ({ operator }: Pick<SandboxService, 'operator'>) => (await operator.quota()).quota;
    const submit = (model: string, prompt: string) => caller.request('POST', '/v1/videos', { model, prompt });

    for (const [index, chain] of CHAINS.entries()) {
      const id = `chained-${index}`;
      it(`${chain.vendor} at ${gatewayPath(chain)}, ${chain.model}`, async () => {
        assert.equal(await connect(chain, id), true, 'the test of the channel');
        const [start, upstreamStart] = [await quotaOf(front), await quotaOf(gateway)];

        const made = await submit(id, `${id} film`);
        assert.equal(made.status, 200, JSON.stringify(made.body));
        const ended = await caller.waitUntilEnded(idOf(made.body));
        assert.equal(ended.status, 'completed', JSON.stringify(ended));
        const paid = start - (await quotaOf(front));
        const billed = upstreamStart - (await quotaOf(gateway));
        assert.ok(paid > 0 && billed > 0);
        const file = await caller.fetchRaw(`/v1/videos/${idOf(made.body)}/content`);
        assert.deepEqual([file.status, file.headers.get('content-type')], [200, 'video/mp4']);
        await file.arrayBuffer();
        const { fail_reason: url } = await caller.unified(idOf(made.body));
        assert.equal(/\/v1\/videos\/[^/]+\/content$/.test(String(url)), chain.needsKey ?? false, String(url));

        const doomed = await submit(id, `${id} [fail]`);
        assert.equal((await caller.waitUntilEnded(idOf(doomed.body))).status, 'failed');
        const { fail_reason: reason } = await caller.unified(idOf(doomed.body));
        assert.doesNotMatch(String(reason), /without a reason|The upstream/);
        const refused = await submit(id, `${id} [policy]`);
        assert.equal(refused.status, 400, JSON.stringify(refused.body));
        const sums = [start - (await quotaOf(front)), upstreamStart - (await quotaOf(gateway))];
        assert.deepEqual(sums, [paid, billed], 'only the film is charged');
      });

      it(`${chain.vendor} at ${gatewayPath(chain)}, ${chain.model}: a wrong key and an unknown model`, async () => {
        const start = await quotaOf(front);
        assert.equal(await connect(chain, `${id}-key`, WRONG_KEY), false);
        await connect({ ...chain, model: 'nonesuch' }, `${id}-model`);
        // Faults of the channel, so that others are tried. Jimeng's own format has one code for every invalid parameter.
        const channels = chain.path === '/jimeng/native' ? [`${id}-key`] : [`${id}-key`, `${id}-model`];
        for (const model of channels) {
          const { status, body } = await submit(model, `${model} film`);
          assert.ok(status === 502 || status === 503, `${status} ${JSON.stringify(body)}`);
        }
        assert.equal(await quotaOf(front), start);
      });
    }
  });
});
