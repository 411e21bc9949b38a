import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { Compile } from 'typebox/compile';
import { forOneDatabase } from '../for-each-database.ts';
import { type Fields, idOf, startVideoService, VENDOR_MODELS, type VideoService } from './video-fixture.ts';

/** The contract's requirements on one vendor's OpenAI-style object. `undefined`: the key is absent. */
interface Expected {
  readonly modelIsEmpty: boolean;
  readonly taskId: boolean;
  /** Before the task has finished, and after a success. */
  readonly url: readonly [before: 'absent' | 'empty', after: 'absent' | 'address'];
  readonly completedAt: 'record' | 'upstream' | 'passthrough';
  readonly seconds: string | undefined;
  readonly error: { readonly message: RegExp; readonly code: string | RegExp };
  /** Pattern of `fail_reason`, if it differs from `error.message`. */
  readonly reason: RegExp;
}

const NOTHING = { modelIsEmpty: false, taskId: false, completedAt: 'record', seconds: undefined } as const;
const ANY_TEXT = { message: /\S/, code: /\S/ };
/** The contract's rules for vendors it does not name. */
const USUAL: Expected = { ...NOTHING, url: ['empty', 'address'], error: ANY_TEXT, reason: /\S/ };
const EXPECTED: Readonly<Record<string, Expected>> = {
  kling: {
    ...NOTHING,
    modelIsEmpty: true,
    url: ['absent', 'address'],
    completedAt: 'upstream',
    // Values of the generated video, not those of the request.
    seconds: '5.1',
    // The failed task's own envelope has code 0, which is not an error code.
    error: { message: /\S/, code: '' },
    reason: /\S/,
  },
  jimeng: {
    ...NOTHING,
    modelIsEmpty: true,
    url: ['empty', 'address'],
    error: { message: /^Internal Error$/, code: '50500' },
    reason: /^Internal Error$/,
  },
  hailuo: {
    ...NOTHING,
    url: ['absent', 'address'],
    error: { message: /^unknown error$/, code: '1000' },
    reason: /^unknown error$/,
  },
  seedance: {
    ...NOTHING,
    taskId: true,
    url: ['empty', 'address'],
    error: { message: /^task failed$/, code: 'failed' },
    reason: /^(?!task failed$)\S/,
  },
  wan: { ...NOTHING, url: ['empty', 'address'], error: { message: /\S/, code: /^[A-Za-z.]+$/ }, reason: /\S/ },
  veo: { ...NOTHING, url: ['absent', 'absent'], error: { message: /\S/, code: /\S/ }, reason: /\S/ },
  'veo-omni': { ...NOTHING, url: ['absent', 'absent'], error: { message: /\S/, code: /\S/ }, reason: /\S/ },
  'veo-vertex': { ...NOTHING, url: ['absent', 'absent'], error: { message: /\S/, code: /\S/ }, reason: /\S/ },
  vidu: {
    ...NOTHING,
    modelIsEmpty: true,
    url: ['absent', 'address'],
    error: { message: /^[A-Za-z]\w+$/, code: /^[A-Za-z]\w+$/ },
    reason: /\S/,
  },
  sora: {
    ...NOTHING,
    url: ['absent', 'absent'],
    completedAt: 'passthrough',
    seconds: '4',
    error: { message: /^The video could not be generated\.$/, code: 'video_generation_failed' },
    reason: /^The video could not be generated\.$/,
  },
};

/** Header by which OpenAI's own clients are recognized. */
const OPENAI_SDK = { 'x-stainless-lang': 'js' };
const videoSchema = Compile(
  JSON.parse(readFileSync(new URL('../video/openai-video-schema.json', import.meta.url), 'utf8')),
);
const assertCompleteVideo = (video: Fields): void =>
  assert.deepEqual([...videoSchema.Errors(video)], [], JSON.stringify(video));

const UNIFIED_KEYS = [
  'action',
  'data',
  'fail_reason',
  'finish_time',
  'progress',
  'start_time',
  'status',
  'submit_time',
  'task_id',
];
const isSeconds = (value: unknown): boolean =>
  Number.isInteger(value) && Math.abs(Number(value) - Date.now() / 1000) < 600;

describe('videos of each vendor in both formats', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), { env: { SYNC_PERIOD_SECONDS: '1' } });
    });
    after(() => service.stop());

    it('Hailuo: no error object if the business code of a failed task means success', async () => {
      const submitted = await service.caller.submit({ model: 'MiniMax-Hailuo-02', prompt: 'A deer [cancel]' });
      const video = await service.caller.waitUntilEnded(idOf(submitted));
      assert.equal(video.status, 'failed');
      assert.equal('error' in video, false);
      const { fail_reason: reason } = await service.caller.unified(idOf(submitted));
      assert.match(String(reason), /^(?!success$)\S/);
    });

    describe('by vendor', { concurrency: VENDOR_MODELS.length }, () => {
      for (const vendor of VENDOR_MODELS) {
        describe(vendor.name, () => {
          const expected = EXPECTED[vendor.name] ?? USUAL;
          const isVeo = /^veo/.test(vendor.name);
          const isSora = vendor.name === 'sora';
          /** Submitted tasks by the outcome of their jobs, each with the path it was submitted to. */
          const submitted: Record<string, Fields> = {};
          const videos: Record<string, Fields> = {};
          const unified: Record<string, Fields> = {};
          const OUTCOMES = { done: '/v1/videos', failed: '/v1/video/generations', running: '/v1/videos' } as const;
          const MARKER = { done: '', failed: ' [fail]', running: ' [stuck]' } as const;

          before(async () => {
            await Promise.all(
              (['done', 'failed', 'running'] as const).map(async (outcome) => {
                const prompt = `${vendor.name} ${outcome}${MARKER[outcome]}`;
                const answer = await service.caller.submit({ model: vendor.model, prompt }, OUTCOMES[outcome]);
                submitted[outcome] = answer;
                if (outcome !== 'running') await service.caller.waitUntilEnded(idOf(answer));
                videos[outcome] = await service.caller.video(idOf(answer));
                unified[outcome] = await service.caller.unified(idOf(answer));
              }),
            );
          });
          const video = (outcome: string) => videos[outcome] as Fields;
          const task = (outcome: string) => unified[outcome] as Fields;

          it('submit: the minimal object', () => {
            for (const [outcome, answer] of Object.entries(submitted)) {
              if (vendor.name === 'veo-vertex') {
                assert.deepEqual(Object.keys(answer), ['task_id'], outcome);
                continue;
              }
              assert.equal(answer.object, 'video');
              assert.ok(isSeconds(answer.created_at));
              assert.equal(answer.model, vendor.model);
              if (isSora) {
                assert.equal(answer.id, service.job('sora', `sora ${outcome}${MARKER[outcome as 'done']}`).id);
                assert.equal('task_id' in answer, false);
                assert.equal(answer.seconds, '4');
              } else {
                assert.deepEqual(
                  Object.keys(answer).sort(),
                  ['created_at', 'id', 'model', 'object', 'progress', 'status', 'task_id'],
                  outcome,
                );
                assert.equal(answer.id, answer.task_id);
                assert.match(String(answer.id), /^task_[A-Za-z0-9]{32}$/);
              }
            }
          });

          it('always present: id, object, status, progress, created_at', () => {
            const status = { done: 'completed', failed: 'failed', running: /^(queued|in_progress)$/ } as const;
            for (const outcome of ['done', 'failed', 'running'] as const) {
              const object = video(outcome);
              assert.equal(object.id, idOf(submitted[outcome] as Fields));
              assert.equal(object.object, 'video');
              assert.match(String(object.status), new RegExp(status[outcome]));
              assert.ok(Number.isInteger(object.progress));
              assert.ok(isSeconds(object.created_at));
              if (outcome !== 'running') assert.equal(object.progress, 100);
            }
          });

          it('model', () => {
            for (const object of Object.values(videos))
              assert.equal(object.model, expected.modelIsEmpty ? '' : vendor.model);
          });

          it('task_id', () => {
            for (const object of Object.values(videos))
              assert.equal(object.task_id, expected.taskId ? object.id : undefined);
          });

          it('completed_at', () => {
            if (expected.completedAt === 'record')
              for (const object of Object.values(videos)) assert.ok(isSeconds(object.completed_at));
            if (expected.completedAt === 'upstream') {
              assert.ok(isSeconds(video('done').completed_at));
              assert.equal('completed_at' in video('running'), false);
            }
            if (expected.completedAt === 'passthrough') {
              assert.ok(isSeconds(video('done').completed_at));
              assert.equal(video('running').completed_at, null);
            }
          });

          it('metadata.url', () => {
            const [before, then] = expected.url;
            const { metadata } = video('done') as { metadata?: { url: string } };
            if (then === 'absent') assert.equal(metadata, undefined);
            else assert.match(String(metadata?.url), /^http:\/\/127\.0\.0\.1:\d+\/.+\.mp4(\?|$)/);
            for (const outcome of ['running', 'failed'])
              assert.deepEqual(video(outcome).metadata, before === 'empty' ? { url: '' } : undefined, outcome);
          });

          it('seconds', () => {
            assert.equal(video('done').seconds, expected.seconds);
            if (!isSora) assert.equal('seconds' in video('running'), false);
          });

          it('error', () => {
            assert.equal(video('done').error ?? undefined, undefined);
            const error = video('failed').error as { message: string; code: string } | undefined;
            assert.deepEqual(Object.keys(error ?? {}).sort(), ['code', 'message']);
            assert.match(String(error?.message), expected.error.message);
            if (typeof expected.error.code === 'string') assert.equal(error?.code, expected.error.code);
            else assert.match(String(error?.code), expected.error.code);
          });

          it('passthrough of the upstream’s own object', () => {
            if (!isSora) {
              for (const key of ['size', 'expires_at', 'remixed_from_video_id', 'prompt'])
                assert.equal(key in video('done'), false, key);
              return;
            }
            const { data } = task('done') as { data: Fields };
            assert.deepEqual(video('done'), data);
            assert.deepEqual([data.size, data.remixed_from_video_id], ['720x1280', null]);
            assert.ok(Number.isInteger(data.expires_at));
          });

          it('OpenAI’s own client: the complete Video object, at every stage', async () => {
            const prompt = `${vendor.name} sdk [stuck]`;
            const made = await service.caller.submit({ model: vendor.model, prompt }, '/v1/videos', OPENAI_SDK);
            assertCompleteVideo(made);
            assert.deepEqual(
              [made.prompt, made.model, made.completed_at, made.error],
              [prompt, vendor.model, null, null],
            );
            assert.match(String(made.seconds), /^\d+$/);
            for (const outcome of ['done', 'failed', 'running'] as const) {
              const { body } = await service.caller.request(
                'GET',
                `/v1/videos/${video(outcome).id}`,
                undefined,
                OPENAI_SDK,
              );
              assertCompleteVideo(body);
              assert.equal(body.id, video(outcome).id);
              assert.equal(body.model, vendor.model);
              assert.equal(body.completed_at === null, outcome === 'running', outcome);
              assert.equal(body.error === null, outcome !== 'failed', outcome);
              assert.match(String(body.seconds), /^\d+(\.\d+)?$/);
              // Fields the contract defines for all vendors stay in `metadata`.
              assert.deepEqual(body.metadata, video(outcome).metadata);
            }
            const list = await service.caller.request('GET', '/v1/videos?limit=100', undefined, OPENAI_SDK);
            for (const each of list.body.data as unknown as Fields[]) assertCompleteVideo(each);
          });

          it('unified: every key is always present', () => {
            for (const object of Object.values(unified)) assert.deepEqual(Object.keys(object).sort(), UNIFIED_KEYS);
          });

          it('unified: status, progress, times', () => {
            const [done, failed, running] = isVeo
              ? ['succeeded', 'failed', /^(queued|processing)$/]
              : ['SUCCESS', 'FAILURE', /^(NOT_START|SUBMITTED|QUEUED|IN_PROGRESS)$/];
            assert.deepEqual([task('done').status, task('done').progress], [done, '100%']);
            assert.deepEqual([task('failed').status, task('failed').progress], [failed, '100%']);
            assert.match(String(task('running').status), running as RegExp);
            assert.match(String(task('running').progress), /^\d{1,2}%$/);
            for (const [outcome, object] of Object.entries(unified)) {
              assert.ok(isSeconds(object.submit_time), outcome);
              assert.ok(object.start_time === 0 || isSeconds(object.start_time), outcome);
              assert.equal(object.finish_time === 0, outcome === 'running', outcome);
              assert.equal(object.action, 'textGenerate');
            }
          });

          it('unified: fail_reason is the reason, or the URL', () => {
            assert.match(String(task('failed').fail_reason), expected.reason);
            assert.equal(task('running').fail_reason, '');
            const id = idOf(submitted.done as Fields);
            const address = String(task('done').fail_reason);
            if (vendor.name === 'veo-vertex') assert.equal(address, '');
            else if (isVeo || isSora) assert.match(address, new RegExp(`/v1/videos/${id}/content$`));
            else assert.equal(address, (video('done').metadata as { url: string }).url);
          });

          it('unified: data is the upstream’s last response', () => {
            assert.equal(typeof task('done').data, 'object');
            assert.notDeepEqual(task('done').data, {});
          });
        });
      }
    });
  });
});
