import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { assertLedgerConsistent, openReadOnly } from '../faults/ledger-assertions.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { ApiCaller, type Fields, idOf, startVideoService, type VideoService } from './video-fixture.ts';

const VENDORS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'veo', model: 'veo-3.1-generate-preview' },
  { name: 'sora', model: 'sora-2' },
  { name: 'sora', model: 'sora-2-pro' },
  { name: 'jimeng', model: 'jimeng_i2v_first_v30' },
] as const;

describe('parameters of a submit', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let url: string;
    before(async () => {
      url = await freshUrl();
      service = await startVideoService(url, {}, VENDORS);
    });
    after(() => service.stop());
    const quota = async () => (await service.operator.quota()).quota;
    /** The amount that the given calls charge to the balance. */
    const costOf = async (calls: () => Promise<unknown>) => {
      const before = await quota();
      await calls();
      return before - (await quota());
    };
    const auditAll = async () => {
      const database = openReadOnly(url);
      try {
        await assertLedgerConsistent(database);
      } finally {
        await database.close();
      }
    };

    describe('Idempotency-Key', () => {
      const key = { 'idempotency-key': 'one-video' };
      const body = { model: 'kling-v1-6', prompt: 'once only' };

      it('fifty concurrent duplicates: one task, one reservation, one job, equal bodies', async () => {
        const cost = await costOf(async () => {
          const answers = await Promise.all(
            Array.from({ length: 50 }, () => service.caller.request('POST', '/v1/videos', body, key)),
          );
          for (const answer of answers) assert.deepEqual([answer.status, answer.body], [200, answers[0]?.body]);
        });
        assert.equal(cost, 5 * 28_000);
        service.job('kling', 'once only');
        const later = await service.caller.submit(body, '/v1/videos', key);
        assert.equal(later.id, (await service.caller.submit(body, '/v1/videos', key)).id);
      });

      it('another body, or another video to remix, is an error', async () => {
        const other = await service.caller.request('POST', '/v1/videos', { ...body, prompt: 'twice' }, key);
        assert.deepEqual([other.status, other.body.code], [422, 'idempotency_mismatch']);
        const both = await Promise.all(
          ['first', 'second'].map((prompt) =>
            service.caller.request('POST', '/v1/videos', { ...body, prompt }, { 'idempotency-key': 'two-bodies' }),
          ),
        );
        assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([200, 422]));
      });

      it('a repeated submit names the same dropped fields as the first', async () => {
        const loose = { ...body, prompt: 'loose, once', seed: 7, metadata: { camera: 'left' } };
        for (const path of ['/v1/videos', '/v1/video/generations']) {
          const send = () => service.caller.request('POST', path, loose, { 'idempotency-key': `loose-${path}` });
          for (const { status, headers } of [...(await Promise.all([send(), send()])), await send()])
            assert.deepEqual([status, headers.get('x-reelgate-dropped')], [200, 'seed, metadata.camera']);
        }
      });

      it('a refused submit stores no key', async () => {
        const headers = { 'idempotency-key': 'try-again' };
        const bad = await service.caller.request('POST', '/v1/videos', { ...body, prompt: '[invalid] x' }, headers);
        assert.equal(bad.status, 400);
        const good = await service.caller.request('POST', '/v1/videos', { ...body, prompt: 'after all' }, headers);
        assert.equal(good.status, 200);
      });

      it('is scoped to its API key; invalid values are refused', async () => {
        const other = new ApiCaller(service.baseUrl, await service.operator.makeToken());
        const mine = await service.caller.submit(body, '/v1/videos', key);
        assert.notEqual((await other.submit(body, '/v1/videos', key)).id, mine.id);
        for (const junk of ['', 'a b', 'x'.repeat(256), '\u00e4']) {
          const { status } = await service.caller.request('POST', '/v1/videos', body, { 'idempotency-key': junk });
          assert.equal(status, 400, JSON.stringify(junk));
        }
      });
    });

    describe('prices', () => {
      for (const [what, model, more, price] of [
        ['seconds', 'kling-v1-6', { duration: 10 }, 10 * 28_000],
        ['mode', 'kling-v1-6', { mode: 'pro' }, 5 * 28_000 * 1.75],
        ['seconds as text', 'sora-2', { seconds: '12' }, 12 * 50_000],
        ['size', 'sora-2-pro', { seconds: '8', size: '1792x1024' }, 8 * 250_000],
        ['the usual size', 'sora-2-pro', { seconds: '8', size: '1280x720' }, 8 * 150_000],
      ] as const) {
        it(what, async () => {
          const cost = await costOf(() => service.caller.submit({ model, prompt: `price of ${what}`, ...more }));
          assert.equal(cost, price);
        });
      }

      it('a configured price and multipliers, rounded up once; resolution and audio apply too', async () => {
        await service.operator.requestData('POST', '/api/admin/models', {
          id: 'dear-veo',
          alias_of: 'veo-3.1-generate-preview',
          price: {
            per_call: 7,
            per_second: 3,
            multipliers: { resolution: { '1080p': 1.1 }, audio: { true: 1.5 } },
          },
        });
        const body = { model: 'dear-veo', prompt: 'dear', metadata: { resolution: '1080p' }, duration: 8 };
        const cost = await costOf(() => service.caller.submit(body));
        assert.equal(cost, Math.ceil((7 + 3 * 8) * 1.1 * 1.5));
      });
    });

    describe('aliases', () => {
      it('sora-2 requested by an OpenAI client is served by another vendor', async () => {
        await service.operator.requestData('PUT', '/api/admin/models/sora-2', { enabled: false });
        await service.operator.requestData('POST', '/api/admin/models', {
          id: 'sora-elsewhere',
          alias_of: 'veo-3.1-generate-preview',
        });
        const submitted = await service.caller.submit({ model: 'sora-elsewhere', prompt: 'elsewhere', seconds: '8' });
        assert.equal(submitted.model, 'sora-elsewhere');
        assert.equal(service.job('veo', 'elsewhere').model, 'veo-3.1-generate-preview');
        const video = await service.caller.waitUntilEnded(idOf(submitted));
        assert.deepEqual([video.status, video.model], ['completed', 'sora-elsewhere']);
        const file = await service.caller.fetchRaw(`/v1/videos/${idOf(submitted)}/content`);
        assert.equal(file.headers.get('content-type'), 'video/mp4');
        assert.equal((await file.arrayBuffer()).byteLength > 10_000, true);
        await service.operator.requestData('PUT', '/api/admin/models/sora-2', { enabled: true });
      });

      it('sora-2 itself, without naming a model', async () => {
        const target = 'veo-3.1-generate-preview';
        await service.operator.requestData('PUT', '/api/admin/models/sora-2', { alias_of: target });
        const submitted = await service.caller.submit({ prompt: 'no model named', seconds: '8' });
        assert.equal(service.job('veo', 'no model named').model, target);
        assert.match(idOf(submitted), /^task_/);
        await service.operator.requestData('PUT', '/api/admin/models/sora-2', { alias_of: null });
      });
    });

    describe('media schema', () => {
      before(() =>
        service.operator.requestData('POST', '/api/admin/models', {
          id: 'kling-by-schema',
          alias_of: 'kling-v1-6',
          input_schema: {
            type: 'object',
            required: ['prompt', 'strength'],
            properties: {
              prompt: { type: 'string', minLength: 3 },
              strength: { type: 'number', minimum: 0, maximum: 1, 'x-upstream': 'cfg_scale' },
              negative_prompt: { type: 'string' },
            },
          },
        }),
      );

      it('declared arguments go where x-upstream says, others are not forwarded', async () => {
        const body = { prompt: 'by schema', strength: 0.25, negative_prompt: 'blur', other: 'dropped' };
        await service.caller.submit({ model: 'kling-by-schema', ...body });
        const { body: sent } = service.job('kling', 'by schema').input as { body: Fields };
        assert.deepEqual(
          [sent.cfg_scale, sent.negative_prompt, sent.other, sent.strength],
          [0.25, 'blur', undefined, undefined],
        );
      });

      it('the schema decides required fields and valid values', async () => {
        for (const body of [
          { prompt: 'no strength' },
          { prompt: 'ab', strength: 0.5 },
          { prompt: 'too strong', strength: 2 },
          { prompt: 'text', strength: '0.5' },
        ]) {
          const cost = await costOf(async () => {
            const answer = await service.caller.request('POST', '/v1/videos', { model: 'kling-by-schema', ...body });
            assert.equal(answer.status, 400, JSON.stringify(body));
            assert.equal((answer.body.error as unknown as Fields).type, 'invalid_request_error');
          });
          assert.equal(cost, 0);
        }
      });
    });

    describe('images', () => {
      const png = loadMedia('image.png');
      it('as a file part, a string, and {image_url}', async () => {
        const form = new FormData();
        form.set('model', 'sora-2');
        form.set('prompt', 'file part');
        form.set('seconds', '8');
        form.set('input_reference', new Blob([new Uint8Array(png.bytes)], { type: 'image/png' }), 'a.png');
        const response = await fetch(`${service.baseUrl}/v1/videos`, {
          method: 'POST',
          headers: { authorization: `Bearer ${service.caller.key}` },
          body: form,
        });
        assert.equal(response.status, 200, await response.text());
        assert.deepEqual((service.job('sora', 'file part').input as Fields).reference, 'image/png');
        const address = 'https://images.example/a.png';
        for (const [prompt, input_reference] of [
          ['as text', address],
          ['as object', { image_url: address }],
        ] as const) {
          await service.caller.submit({ model: 'sora-2', prompt, input_reference });
          assert.equal((service.job('sora', prompt).input as Fields).reference, 'image_url');
        }
      });

      it('in fields of other APIs are used, refused by name, or named as dropped; quotes do the same', async () => {
        const address = 'https://images.example/a.png';
        const model = 'kling-v1-6';
        for (const path of ['/v1/videos', '/v1/video/generations']) {
          const prompt = `by image_url ${path}`;
          await service.caller.submit({ model, prompt, image_url: { url: address }, duration: '10' }, path);
          const { body: sent } = service.job('kling', prompt).input as { body: Fields };
          assert.deepEqual([sent.image, sent.duration], [address, '10']);
        }
        const video = { model, prompt: 'x', video_url: 'https://images.example/a.mp4' };
        for (const path of ['/v1/videos', '/v1/video/generations', '/v1/videos/quote']) {
          const { status, body } = await service.caller.request('POST', path, video);
          assert.equal(status, 400, path);
          assert.match(String(body.message), /^(.*: )?video_url is not used here/);
        }
        const loose = {
          model,
          prompt: 'loose',
          seed: 7,
          metadata: { cfg_scale: 0.5, camera: 'left', 'größe, x': 1 },
        };
        for (const path of ['/v1/videos', '/v1/videos/quote']) {
          const response = await service.caller.fetchRaw(path, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(loose),
          });
          assert.equal(response.status, 200, await response.text());
          const dropped = response.headers.get('x-reelgate-dropped');
          assert.equal(dropped, 'seed, metadata.camera, metadata.gr%C3%B6%C3%9Fe%2C%20x');
        }
        assert.equal((service.job('kling', 'loose').input as { body: Fields }).body.cfg_scale, 0.5);
      });

      it('of a form: lists, numbers, metadata as JSON, and a last frame by name', async () => {
        const form = new FormData();
        const file = () => new Blob([new Uint8Array(png.bytes)], { type: 'image/png' });
        for (const [name, value] of Object.entries({ model: 'kling-v1-6', prompt: 'a form', duration: '10', size: '' }))
          form.set(name, value);
        form.set('metadata', '{"cfg_scale": 0.25}');
        form.set('image_tail', file(), 'b.png');
        form.set('images[]', 'https://images.example/a.png');
        const response = await service.caller.fetchRaw('/v1/video/generations', {
          method: 'POST',
          body: form as never,
        });
        assert.equal(response.status, 200, await response.text());
        const { body: sent } = service.job('kling', 'a form').input as { body: Fields };
        assert.deepEqual([sent.image, sent.duration, sent.cfg_scale], ['https://images.example/a.png', '10', 0.25]);
        assert.equal(sent.image_tail, png.bytes.toString('base64'));
      });

      it('of 3 MB reach the vendor unchanged, in a signed body too', async () => {
        const image = Buffer.concat([png.bytes, Buffer.alloc(3_000_000, png.bytes)]).toString('base64');
        await service.caller.submit({ model: 'kling-v1-6', prompt: 'large, plain', image });
        const plain = service.job('kling', 'large, plain').input as { readonly body: Fields };
        assert.equal(plain.body.image === image, true);
        await service.caller.submit({ model: 'jimeng_i2v_first_v30', prompt: 'large, signed', image });
        const signed = service.job('jimeng', 'large, signed').input as { readonly binary_data_base64: unknown[] };
        assert.equal(signed.binary_data_base64[0] === image, true);
      });
    });

    describe('large images in JSON', () => {
      const large = (fill: string): string =>
        Buffer.concat([loadMedia('image.png').bytes, Buffer.alloc(90_000, fill)]).toString('base64');
      const [first, second] = [large('first'), large('second')];
      const sentTo = (prompt: string) => (service.job('kling', prompt).input as { readonly body: Fields }).body;

      it('are sent in full, once each, in every supported field', async () => {
        for (const [prompt, images, sent] of [
          ['image and images', { image: first, images: [first, second] }, [first, second]],
          ['as data URL', { images: [`data:image/png;base64,${first}`] }, [first, undefined]],
          ['reference object', { image: second, input_reference: { image_url: first } }, [second, first]],
          ['reference text', { input_reference: first }, [first, undefined]],
          ['beside metadata', { image: first, metadata: { image_tail: second } }, [first, second]],
          ['with an emoji 😀', { image: first }, [first, undefined]],
        ] as const) {
          await service.caller.submit({ model: 'kling-v1-6', prompt, ...images });
          const { image, image_tail } = sentTo(prompt);
          assert.deepEqual([image === sent[0], image_tail === sent[1]], [true, true], prompt);
        }
      });

      it('from the console too, quotes included', async () => {
        const body = { model: 'kling-v1-6', prompt: 'from the console', image: first };
        await service.operator.requestData('POST', '/api/videos/quote', body);
        await service.operator.requestData('POST', '/api/videos', body);
        assert.equal(sentTo('from the console').image === first, true);
      });

      it('are validated in full by a media schema, and stored truncated', async () => {
        const input_schema = {
          type: 'object',
          properties: {
            prompt: { type: 'string' },
            image: { type: 'string', pattern: '^[A-Za-z0-9+/=]+$', maxLength: first.length },
          },
        };
        await service.operator.requestData('POST', '/api/admin/models', {
          id: 'kling-with-pattern',
          alias_of: 'kling-v1-6',
          input_schema,
        });
        await service.caller.submit({ model: 'kling-with-pattern', prompt: 'by pattern', image: first });
        assert.equal(sentTo('by pattern').image === first, true);
        const longer = large('first, and longer');
        const refused = { model: 'kling-with-pattern', prompt: 'too long', image: longer + longer.slice(0, 4) };
        assert.equal((await service.caller.request('POST', '/v1/videos', refused)).status, 400);
        const database = openReadOnly(url);
        try {
          const stored = await database.kysely.selectFrom('tasks').select('request').execute();
          const requests = stored.map(({ request }) => String(request)).filter((text) => text.includes('by pattern'));
          assert.equal(requests.length, 1);
          assert.match(requests[0] ?? '', /"image":"iVBOR[^"]+…\[cut, \d+ characters\]"/);
          assert.ok((requests[0]?.length ?? 0) < 1_200);
        } finally {
          await database.close();
        }
      });

      it('that are not images are refused, and not charged', async () => {
        for (const image of [
          'A'.repeat(90_001),
          `${first.slice(0, -4)}"\\n"`,
          `https://a.example/${'a'.repeat(90_000)}`,
          `${'é'.repeat(90_000)}`,
          `data:text/plain,${first}`,
          'AAAA'.repeat(20_000),
        ])
          for (const body of [{ image }, { images: [image] }, { input_reference: { image_url: image } }]) {
            const cost = await costOf(async () => {
              const answer = await service.caller.request('POST', '/v1/videos', {
                model: 'kling-v1-6',
                prompt: 'no image',
                ...body,
              });
              assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_request'], image.slice(0, 40));
            });
            assert.equal(cost, 0);
          }
      });
    });

    describe('remix', () => {
      const remix = (id: unknown, body: Fields) =>
        service.caller.request('POST', `/v1/videos/${String(id)}/remix`, body);

      it('creates a new task of the same length, and a remix of it has the same price', async () => {
        const origin = await service.caller.submit({ model: 'sora-2', prompt: 'origin', seconds: '12' });
        await service.caller.waitUntilEnded(idOf(origin));
        let id = idOf(origin);
        for (const prompt of ['remix one', 'remix two']) {
          const cost = await costOf(async () => {
            const { status, body, headers } = await remix(id, { prompt, seconds: '4' });
            assert.equal(status, 200, JSON.stringify(body));
            assert.equal(headers.get('x-reelgate-dropped'), 'seconds');
            assert.equal(body.remixed_from_video_id, id);
            id = idOf(body);
          });
          assert.equal(cost, 12 * 50_000);
          const video = await service.caller.waitUntilEnded(id);
          assert.deepEqual([video.id, video.seconds], [id, '12']);
        }
        assert.equal((await service.caller.unified(id)).action, 'remix');
      });

      it('refuses an empty prompt, an unfinished original, another vendor’s, and an unknown one', async () => {
        const origin = await service.caller.submit({ model: 'sora-2', prompt: 'unfinished [stuck]' });
        const kling = await service.caller.submit({ model: 'kling-v1-6', prompt: 'no remix' });
        await service.caller.waitUntilEnded(idOf(kling));
        for (const [id, body, code] of [
          [idOf(origin), { prompt: '' }, 'invalid_request'],
          [idOf(origin), { prompt: '  ' }, 'invalid_request'],
          [idOf(origin), {}, 'invalid_request'],
          [idOf(origin), { prompt: 'x' }, 'remix_unsupported'],
          [idOf(kling), { prompt: 'x' }, 'remix_unsupported'],
          ['none', { prompt: 'x' }, 'task_not_exist'],
        ] as const) {
          const answer = await remix(id, body);
          assert.deepEqual([answer.status, answer.body.code], [400, code]);
        }
      });

      it('under one Idempotency-Key two originals are two requests', async () => {
        const [one, two] = await Promise.all(
          ['key one', 'key two'].map((prompt) => service.caller.submit({ model: 'sora-2', prompt })),
        );
        await Promise.all([
          service.caller.waitUntilEnded(idOf(one as Fields)),
          service.caller.waitUntilEnded(idOf(two as Fields)),
        ]);
        const headers = { 'idempotency-key': 'remix-once' };
        const first = await service.caller.request(
          'POST',
          `/v1/videos/${idOf(one as Fields)}/remix`,
          { prompt: 'same' },
          headers,
        );
        const second = await service.caller.request(
          'POST',
          `/v1/videos/${idOf(two as Fields)}/remix`,
          { prompt: 'same' },
          headers,
        );
        assert.deepEqual([first.status, second.status], [200, 422]);
      });
    });

    it('the ledger is consistent after all of these calls', auditAll);
  });
});
