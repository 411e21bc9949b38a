import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { loadMedia } from '../../src/sandbox/media.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type Fields, idOf, startVideoService, type VideoService } from './video-fixture.ts';

const MODELS = [
  { name: 'kling', model: 'kling-v3-omni' },
  { name: 'hailuo', model: 'MiniMax-H3' },
  { name: 'vidu', model: 'viduq2' },
  { name: 'wan', model: 'wan2.7-videoedit' },
  { name: 'wan', model: 'wan2.7-i2v' },
  { name: 'seedance', model: 'dreamina-seedance-2-5-260628' },
  { name: 'runway', model: 'gen4.5' },
  { name: 'sora', model: 'sora-2' },
  { name: 'veo-omni', model: 'gemini-omni-1.2-flash' },
];
const PNG = new Uint8Array(loadMedia('image.png').bytes);
const MP4 = new Uint8Array(loadMedia('sea-1-silent.mp4').bytes);
const image = { type: 'image', data: Buffer.from(PNG).toString('base64') };
const reference = { ...image, role: 'reference' };
const clip = { type: 'video', role: 'reference', url: 'https://media.example/clip.mp4' };

/** A video is priced, reserved and charged by the same facts, whatever it is made from. */
describe('typed inputs', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), {}, MODELS);
    });
    after(() => service.stop());

    const sentTo = (vendor: string): Fields => {
      const submits = service.sandbox.control
        .requests()
        .filter((each) => each.vendor === vendor && each.method === 'POST');
      return JSON.parse(submits.at(-1)?.body.toString() ?? '{}') as Fields;
    };
    const refusal = async (body: Fields, path = '/v1/videos') => {
      const { status, body: answer } = await service.caller.request('POST', path, body);
      const { message, param } = answer.error as unknown as { message: string; param: string };
      return { status, message, param };
    };

    it('sends a single reference to each vendor as one', async () => {
      const { caller } = service;
      await caller.submit({ model: 'MiniMax-H3', prompt: 'h3', inputs: [reference] });
      assert.equal(
        (sentTo('hailuo').content as Fields[]).find(({ type }) => type === 'image_url')?.role,
        'reference_image',
      );
      await caller.submit({ model: 'kling-v3-omni', prompt: '@Image1 runs', inputs: [reference] });
      const omni = sentTo('kling');
      assert.deepEqual(Object.keys((omni.image_list as Fields[])[0] ?? {}), ['image_url']);
      assert.equal(omni.prompt, '<<<image_1>>> runs');
      await caller.submit({ model: 'viduq2', prompt: 'vidu', inputs: [reference] });
      assert.match(
        service.sandbox.control
          .requests()
          .filter(({ vendor }) => vendor === 'vidu')
          .at(-1)?.path ?? '',
        /reference2video/,
      );
      await caller.submit({ model: 'gemini-omni-1.2-flash', prompt: 'omni', inputs: [reference] });
      const config = sentTo('veo-omni').generation_config as unknown as { video_config: Fields };
      assert.equal(config.video_config.task, 'reference_to_video');
      await caller.submit({ model: 'MiniMax-H3', prompt: 'mixed', inputs: [reference, clip] });
      assert.deepEqual(
        (sentTo('hailuo').content as Fields[]).map(({ role }) => role),
        [undefined, 'reference_image', 'reference_video'],
      );
    });

    it('reads them from a form, with files', async () => {
      const form = new FormData();
      form.set('model', 'MiniMax-H3');
      form.set('prompt', 'from a form');
      form.set('inputs[0].role', 'first_frame');
      form.set('inputs[0].file', new Blob([PNG], { type: 'image/png' }), 'a.png');
      form.set('inputs[1].type', 'image');
      form.set('inputs[1].role', 'last_frame');
      form.set('inputs[1].url', 'https://media.example/b.png');
      const headers = { authorization: `Bearer ${service.caller.key}` };
      const response = await fetch(`${service.baseUrl}/v1/videos`, { method: 'POST', body: form, headers });
      assert.equal(response.status, 200, await response.clone().text());
      assert.deepEqual(
        (sentTo('hailuo').content as Fields[]).map(({ role }) => role),
        [undefined, 'first_frame', 'last_frame'],
      );
    });

    it('refuses before anything is reserved, and names the field', async () => {
      const newest = async () => (await service.caller.request('GET', '/v1/videos?limit=1')).body.first_id;
      const before = await newest();
      for (const [body, param] of [
        [{ model: 'viduq2', inputs: [{ ...image, role: 'first_frame' }] }, 'inputs[0].role'],
        [{ model: 'gen4.5', inputs: [reference] }, 'inputs[0].role'],
        [{ model: 'MiniMax-H3', inputs: [{ type: 'audio', url: 'https://media.example/a.mp3' }] }, 'inputs'],
        [{ model: 'MiniMax-H3', inputs: [{ ...image, role: 'first_frame' }, reference] }, 'inputs'],
        [{ model: 'MiniMax-H3', inputs: [image], image: 'https://media.example/a.png' }, 'inputs'],
        [{ model: 'MiniMax-H3', inputs: [{ type: 'image', file_id: 'file-unknown' }] }, 'inputs[0].file_id'],
        [
          {
            model: 'gemini-omni-1.2-flash',
            inputs: [
              { ...image, role: 'first_frame' },
              { ...image, role: 'last_frame' },
            ],
            seconds: '12',
          },
          'seconds',
        ],
        [{ model: 'gen4.5', operation: 'edit', inputs: [clip] }, 'model'],
      ] as const) {
        for (const path of ['/v1/videos', '/v1/videos/quote']) {
          const refused = await refusal({ prompt: 'refused', ...body }, path);
          assert.deepEqual([refused.status, refused.param], [400, param], `${path} ${refused.message}`);
        }
      }
      assert.equal(await newest(), before);
    });

    it('names the models that can do what a model cannot', async () => {
      const { message } = await refusal({ model: 'gen4.5', prompt: 'x', operation: 'extend', inputs: [clip] });
      assert.match(message, /Models that can extend: .*sora-2/);
      const form = new FormData();
      form.set('prompt', 'x');
      form.set('video', new Blob([MP4], { type: 'video/mp4' }), 'a.mp4');
      const headers = { authorization: `Bearer ${service.caller.key}` };
      const response = await fetch(`${service.baseUrl}/v1/videos/edits`, { method: 'POST', body: form, headers });
      const { error } = (await response.json()) as { error: { message: string; param: string } };
      assert.deepEqual([response.status, error.param], [400, 'model']);
      assert.match(error.message, /Models that can edit: .*MiniMax-H3/);
    });

    it('edits and extends videos across vendors, with the same price in quote, reservation and receipt', async () => {
      const { caller } = service;
      const source = idOf(await caller.submit({ model: 'gen4.5', prompt: 'the source', seconds: '5' }));
      await caller.waitUntilEnded(source);
      for (const [model, operation] of [
        ['wan2.7-videoedit', 'edit'],
        ['MiniMax-H3', 'edit'],
        ['kling-v3-omni', 'edit'],
        ['dreamina-seedance-2-5-260628', 'edit'],
        ['dreamina-seedance-2-5-260628', 'extend'],
        ['wan2.7-i2v', 'extend'],
        ['gemini-omni-1.2-flash', 'extend'],
      ] as const) {
        const body = {
          model,
          operation,
          prompt: `${operation} by ${model}`,
          inputs: [{ type: 'video', file_id: source }],
        };
        const quote = await caller.request('POST', '/v1/videos/quote', body);
        assert.equal(quote.status, 200, `${model} ${JSON.stringify(quote.body)}`);
        const id = idOf(await caller.submit(body));
        const receipt = await caller.request('GET', `/v1/videos/${id}/receipt`);
        const { facts } = receipt.body as unknown as { facts: Fields };
        assert.ok(Number(facts.input_seconds) > 0, `${model} ${JSON.stringify(facts)}`);
        assert.deepEqual(facts, quote.body.facts, model);
        const video = await caller.waitUntilEnded(id);
        assert.equal(video.status, 'completed', `${model} ${JSON.stringify(video.error)}`);
        assert.equal((video.metadata as Fields | undefined)?.source_video_id, source, model);
        assert.equal((await caller.unified(id)).action, operation);
      }
      const { body } = await caller.request('POST', '/v1/videos/quote', {
        ...{ model: 'wan2.7-videoedit', operation: 'edit', prompt: 'x' },
        inputs: [{ type: 'video', file_id: source }],
      });
      assert.ok((body.lines as unknown as Fields[]).some(({ label }) => label === 'per_input_second'));
    });

    it('generates the final video of a draft at the account that has it, at the price of its length', async () => {
      const { caller, operator } = service;
      const model = 'dreamina-seedance-2-5-260628';
      const draft = { model, prompt: 'a draft', seconds: '7', metadata: { draft: true }, inputs: [reference] };
      const id = idOf(await caller.submit(draft));
      await caller.waitUntilEnded(id);
      // Another account of the vendor is preferred for new videos, but does not know the draft.
      const second = await operator.addChannel({
        ...{ vendor: 'seedance', base_url: service.sandbox.url('seedance'), models: [model], priority: 99 },
        credentials: { api_key: 'another account' },
      });
      const plain = idOf(await caller.submit({ model, prompt: 'no draft' }).catch(() => ({ id: '' })));
      const final = { model, metadata: { draft_task: id } };
      for (const [body, param] of [
        [{ ...final, seconds: '5' }, 'seconds'],
        [{ ...final, size: '480p' }, 'size'],
        [{ ...final, inputs: [reference] }, 'inputs'],
        [{ ...final, metadata: { draft_task: id, seed: 7 } }, 'metadata.seed'],
        [{ ...final, metadata: { draft_task: 'unknown' } }, 'metadata.draft_task'],
        [{ ...final, metadata: { draft_task: plain } }, 'metadata.draft_task'],
        [{ ...final, model: 'doubao-seedance-2-0-260128' }, 'model'],
      ] as const) {
        const refused = await refusal({ ...body });
        assert.deepEqual([refused.status, refused.param], [400, param], refused.message);
      }
      const native = { model, metadata: { content: [{ type: 'draft_task', draft_task: { id } }] } };
      for (const body of [final, native]) {
        const quote = await caller.request('POST', '/v1/videos/quote', body);
        const facts = quote.body.facts as unknown as Fields;
        assert.deepEqual([facts.seconds, facts.resolution], [7, '1080p'], JSON.stringify(quote.body));
        const made = idOf(await caller.submit(body));
        const { content, resolution, ...rest } = sentTo('seedance');
        const [{ type, draft_task: sent }] = content as unknown as [{ type: string; draft_task: Fields }];
        assert.deepEqual([type, resolution, Object.keys(rest)], ['draft_task', '1080p', ['model']]);
        assert.match(String(sent.id), /^cgt-/);
        assert.equal((await caller.waitUntilEnded(made)).status, 'completed');
        const receipt = await caller.request('GET', `/v1/videos/${made}/receipt`);
        assert.equal(receipt.body.reserved, quote.body.quota);
      }
      const { headers } = await caller.request('POST', '/v1/videos/quote', { ...final, prompt: 'another' });
      assert.equal(headers.get('x-reelgate-dropped'), 'prompt');
      await operator.requestData('DELETE', `/api/admin/channels/${second}`);
    });

    it("serves openai's edit and extend, by id and as an upload", async () => {
      const openai = new OpenAI({ apiKey: service.caller.key, baseURL: `${service.baseUrl}/v1`, maxRetries: 0 });
      const source = await openai.videos.create({ model: 'sora-2', prompt: 'openai source' });
      await service.caller.waitUntilEnded(source.id);
      const edited = await openai.videos.edit({ prompt: 'in rain', video: { id: source.id } });
      assert.deepEqual([edited.model, edited.remixed_from_video_id], ['sora-2', source.id]);
      const extended = await openai.videos.extend({ prompt: 'go on', seconds: '8', video: { id: source.id } });
      assert.deepEqual([extended.model, extended.seconds], ['sora-2', '8']);
      const video = await toFile(MP4, 'a.mp4', { type: 'video/mp4' });
      const uploaded = await openai.videos.edit({ prompt: 'by file', video, model: 'sora-2' } as {
        prompt: string;
        video: typeof video;
      });
      assert.equal(uploaded.model, 'sora-2');
      const missing = await openai.videos
        .edit({ prompt: 'x', video: { id: 'video_unknown' } })
        .catch((error: unknown) => error);
      assert.equal((missing as { status?: number }).status, 404);
    });

    it('lists what each model takes, with a schema that says which combinations exist', async () => {
      const { body, headers } = await service.caller.request('GET', '/v1/videos/models');
      const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
      assert.equal((await service.caller.fetchRaw('/v1/videos/models', known)).status, 304);
      const models = body.data as unknown as {
        id: string;
        inputs: Fields[];
        operations: string[];
        resolutions: string[];
      }[];
      const h3 = models.find(({ id }) => id === 'MiniMax-H3');
      assert.deepEqual(h3?.operations, ['generate', 'edit']);
      assert.deepEqual(
        h3?.inputs.find(({ type, roles }) => type === 'video' && String(roles) === 'reference'),
        {
          type: 'video',
          roles: ['reference'],
          min: 0,
          max: 3,
          max_bytes: 50_000_000,
        },
      );
      const one = await service.caller.request('GET', '/v1/videos/models/MiniMax-H3');
      assert.deepEqual(one.body, JSON.parse(JSON.stringify(h3)));
      assert.equal((await service.caller.request('GET', '/v1/videos/models/none')).status, 404);
    });
  });
});
