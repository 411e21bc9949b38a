import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { arbitraryMutatedJson } from '../../../../test/arbitrary-mutated-json.ts';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { fixedResponseContext, videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { saysFailure, saysSuccess, tryMutatedReplies } from '../../../../test/vendors/try-mutated-replies.ts';
import { parseJson } from '../../platform/json.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, PollFailed, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { Json, MediaInput, QueryOutcome, VideoRequest } from '../adapter.ts';
import {
  CLASS_BY_TYPE_H3,
  ERROR_CLASSES,
  hailuo,
  parseMetadata,
  toBody,
  toBodyH3,
  toError,
  toErrorH3,
} from './adapter.ts';

describe('adapter', () => {
  const replies = recordedReplies('hailuo');
  const HANDLE = { taskId: '318402915563201' };
  const url = (name: string): MediaInput => ({ url: `https://images.example/${name}.png` });
  const body = (request: Partial<VideoRequest>) => toBody(videoRequest({ model: 'MiniMax-Hailuo-02', ...request }));

  /** A vendor that returns one response to a poll and another to the query for the file. */
  function call(status: unknown, file: unknown = replies.file): AdapterContext {
    const [poll, retrieve] = [fixedResponseContext({ json: status }), fixedResponseContext({ json: file })];
    return { ...poll, sendJson: (request) => (request.url.includes('/files/') ? retrieve : poll).sendJson(request) };
  }
  const query = (status: unknown, file?: unknown) => hailuo.query(HANDLE, call(status, file));

  test('defaults: six seconds at the first resolution of the model, and nothing else', () => {
    const { prompt } = videoRequest({ model: 'x' });
    assert.deepEqual(body({}), { model: 'MiniMax-Hailuo-02', prompt, duration: 6, resolution: '768P' });
    assert.equal(body({ model: 'T2V-01' }).resolution, '720P');
  });

  test('only the keys of the metadata table are sent, at the top of the body', () => {
    const named = {
      resolution: '768P',
      prompt_optimizer: false,
      fast_pretreatment: true,
      first_frame_image: 'https://images.example/a.png',
      last_frame_image: 'https://images.example/b.png',
      subject_reference: [{ type: 'character', image: ['https://images.example/face.png'] }],
      aigc_watermark: true,
    };
    const {
      model: _,
      prompt: __,
      ...sent
    } = body({
      seconds: 10,
      metadata: {
        ...named,
        callback_url: 'https://canary.example',
        model: 'other',
        base_url: 'https://canary.example',
      },
    });
    assert.deepEqual(sent, { duration: 10, ...named });
  });

  test('images are the first and the last frame, or the face of the subject model', () => {
    const two = body({ images: [url('a'), url('b')] });
    assert.deepEqual(
      [two.first_frame_image, two.last_frame_image],
      ['https://images.example/a.png', 'https://images.example/b.png'],
    );
    const beside = body({ images: [url('a')], metadata: { last_frame_image: 'https://images.example/z.png' } });
    assert.equal(beside.first_frame_image, 'https://images.example/a.png');
    assert.equal(beside.last_frame_image, 'https://images.example/z.png');
    const face = body({
      model: 'S2V-01',
      images: [{ bytes: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' }],
    });
    assert.deepEqual(face.subject_reference, [{ type: 'character', image: ['data:image/png;base64,iVBORw0KGgo='] }]);
    assert.equal(face.first_frame_image, undefined);
  });

  for (const [size, resolution] of [
    ['768p', '768P'],
    ['1080P', '1080P'],
    ['1280x720', '768P'],
    ['1366*768', '768P'],
    ['1920x1080', '1080P'],
  ] as const) {
    test(`size ${size} is ${resolution}`, () => assert.equal(body({ size }).resolution, resolution));
  }

  test('a size between the classes of an older model is mapped to one of them', () => {
    assert.equal(body({ model: 'T2V-01', size: '1280x720' }).resolution, '720P');
    assert.equal(body({ images: [url('a')], size: '720x1280' }).resolution, '768P');
    assert.equal(body({ images: [url('a')], size: '512P', seconds: 10 }).resolution, '512P');
  });

  const REFUSED: readonly (readonly [Partial<VideoRequest>, string])[] = [
    [{ mode: 'pro' }, 'mode'],
    [{ seconds: 5 }, 'duration'],
    [{ seconds: 10, size: '1080P' }, 'duration'],
    [{ model: 'T2V-01', seconds: 10 }, 'duration'],
    [{ size: 'large' }, 'size'],
    [{ size: '720x1280' }, 'size'],
    [{ size: '512P' }, 'size'],
    [{ model: 'T2V-01', images: [url('a')] }, 'image'],
    [{ model: 'I2V-01' }, 'image'],
    [{ model: 'S2V-01' }, 'image'],
    [{ model: 'S2V-01', images: [url('a'), url('b')] }, 'images'],
    [{ model: 'MiniMax-Hailuo-2.3', images: [url('a'), url('b')] }, 'images'],
    [{ images: [url('a'), url('b'), url('c')] }, 'images'],
    [{ images: [url('a')], metadata: { first_frame_image: 'https://images.example/z.png' } }, 'image'],
    [{ metadata: { prompt_optimizer: 'yes' } }, 'metadata.prompt_optimizer'],
    [{ metadata: { subject_reference: [{ type: 'dog', image: [] }] } }, 'metadata.subject_reference.0.type'],
  ];
  for (const [request, param] of REFUSED) {
    test(`${param} of ${JSON.stringify(request).slice(0, 90)} is refused`, () => {
      const isRefusal = (error: unknown) => error instanceof UnsupportedRequestError && error.param === param;
      assert.throws(() => body(request), isRefusal);
      assert.throws(() => hailuo.billingFactors(videoRequest({ model: 'MiniMax-Hailuo-02', ...request })), isRefusal);
    });
  }

  test('the price follows length and resolution, also where the media schema sets them', () => {
    const meter = (request: Partial<VideoRequest>) =>
      hailuo.billingFactors(videoRequest({ model: 'MiniMax-Hailuo-02', ...request }));
    assert.deepEqual(meter({ seconds: 10 }), { seconds: 10, factors: { resolution: '768P' } });
    assert.deepEqual(meter({ metadata: { resolution: '1080p' } }), { seconds: 6, factors: { resolution: '1080P' } });
    assert.deepEqual(meter({ extraFields: [{ path: 'duration', value: 10 }] }).seconds, 10);
  });

  const STATES = {
    preparing: 'SUBMITTED',
    queueing: 'QUEUED',
    processing: 'IN_PROGRESS',
    success: 'SUCCESS',
    fail: 'FAILURE',
    failed: 'FAILURE',
  };

  for (const [word, state] of Object.entries(STATES)) {
    test(`status ${word} is ${state}`, async () => {
      assert.equal((await query(replies[word])).state, state);
    });
  }

  test('success returns the URL of the file and keeps its id', async () => {
    const { state, artifact, handle } = await query(replies.success);
    assert.equal(state, 'SUCCESS');
    assert.deepEqual(artifact, {
      kind: 'url',
      url: 'https://cdn.example/output_aigc.mp4?Expires=1767413045&Signature=abc',
    });
    assert.deepEqual(handle, { ...HANDLE, fileId: '271845904523536' });
  });

  test('an id of 18 digits survives if the vendor writes it as a number', async () => {
    const text =
      '{"task_id":318402915563201999,"status":"Success","file_id":271845904523536001,"base_resp":{"status_code":0}}';
    const asked: string[] = [];
    const poll = fixedResponseContext({ json: parseJson(text, { longIntegersAsText: true }), text });
    const file = fixedResponseContext({ json: replies.file });
    const outcome = await hailuo.query(
      { taskId: '318402915563201999' },
      {
        ...poll,
        sendJson(request) {
          asked.push(request.url);
          return (request.url.includes('/files/') ? file : poll).sendJson(request);
        },
      },
    );
    assert.match(asked[1] ?? '', /file_id=271845904523536001$/);
    assert.deepEqual(outcome.handle, { taskId: '318402915563201999', fileId: '271845904523536001' });
  });

  test('a failed task keeps the vendor’s message, or says that there is none', async () => {
    const told = (await query(replies.fail)).error;
    assert.deepEqual([told?.code, told?.message, told?.reason], ['1027', 'output new_sensitive', 'policy']);
    const bare = (await query(replies['fail-bare'])).error;
    assert.deepEqual([bare?.code, bare?.message], ['', 'task failed']);
  });

  test('success without a file fails, an unknown word is UNKNOWN, an unknown id is a failure', async () => {
    assert.equal((await query(replies['success-empty'])).state, 'FAILURE');
    assert.equal((await query(replies.strange)).state, 'UNKNOWN');
    const lost = await query(replies['unknown-id']);
    assert.deepEqual([lost.state, lost.error?.reason], ['FAILURE', 'missing']);
  });

  test('a poll response without the task’s status is invalid', async () => {
    await assert.rejects(query(replies['login-fail']), PollFailed);
    await assert.rejects(query({ ...(replies.success as object), task_id: '7' }), PollFailed);
    await assert.rejects(query(replies.success, replies['login-fail']), PollFailed);
    await assert.rejects(hailuo.query(HANDLE, fixedResponseContext({ status: 200, text: '<html>' })), PollFailed);
    await assert.rejects(hailuo.query(HANDLE, fixedResponseContext({ status: 502, text: '<html>' })), PollFailed);
  });

  const ELSEWHERE = new Set(['rate', 'capacity', 'auth', 'billing', 'model']);
  for (const [code, meaning] of Object.entries(ERROR_CLASSES)) {
    const { reason } = meaning;
    test(`code ${code} is ${reason}, although HTTP says 200`, () => {
      const json = { base_resp: { status_code: Number(code), status_msg: 'words' } };
      const error = toError({ status: 200, headers: {}, text: '', json }, 0);
      const retryable = ELSEWHERE.has(reason);
      assert.deepEqual(error, { ...meaning, retryable, httpStatus: 200, code, message: 'words' });
    });
  }

  test('a refused submit is a value; one that cannot be read is ambiguous', async () => {
    const submit = (json: unknown) =>
      hailuo.submit(videoRequest({ model: 'MiniMax-Hailuo-02' }), fixedResponseContext({ json }));
    const refused = await submit(replies.refused);
    assert.equal(refused.kind === 'refused' && refused.error.code, '2013');
    const accepted = await submit(replies.accepted);
    assert.deepEqual(accepted.kind === 'accepted' && accepted.handle, HANDLE);
    for (const json of [{}, [], { task_id: '', base_resp: { status_code: 0 } }, { task_id: {} }, null]) {
      await assert.rejects(submit(json), OutboundError);
    }
  });

  const isPublic = (outcome: QueryOutcome) =>
    outcome.artifact?.kind === 'url' && /^https?:\/\//i.test(outcome.artifact.url);

  test('5,000 mutated responses: no crash, no wrong final state', async () => {
    const files = fc.oneof(fc.constant(replies.file), arbitraryMutatedJson([replies.file]));
    await fc.assert(
      fc.asyncProperty(arbitraryMutatedJson(Object.values(replies)), files, async (status, file) => {
        const outcome = await query(status, file).catch((error: unknown) => error);
        if (outcome instanceof PollFailed) return;
        assert.ok(!(outcome instanceof Error), String(outcome));
        const { state } = outcome as QueryOutcome;
        const said = status as { status?: unknown; file_id?: Json; base_resp?: { status_code?: unknown } };
        if (state === 'SUCCESS') assert.ok(/^success$/i.test(String(said.status)) && isPublic(outcome as QueryOutcome));
        if (state === 'FAILURE') {
          const isToldByCode = [2013, 1027, '2013', '1027'].includes(said.base_resp?.status_code as number);
          assert.ok(/^(fail(ed)?|success)$/i.test(String(said.status)) || isToldByCode, JSON.stringify(status));
        }
      }),
      { numRuns: 5_000 },
    );
  });

  test('mutated responses under any HTTP status: no crash, no wrong final state, no invented job', async () => {
    await tryMutatedReplies(hailuo, {
      handle: HANDLE,
      replies: Object.keys(replies).filter((name) => name !== 'accepted'),
      submits: ['accepted', 'refused', 'login-fail'],
      model: 'MiniMax-Hailuo-02',
      runs: 2_000,
      mayEnd(state, reply, status) {
        const told = reply as { status?: unknown; base_resp?: { status_code?: unknown } };
        // One response is returned to both queries here, and no recorded status response also contains a file.
        if (state === 'SUCCESS' || status >= 300) return false;
        const isToldByCode = [2013, 1026, 1027].includes(Number(told.base_resp?.status_code));
        return isToldByCode || saysFailure(told.status) || saysSuccess(told.status);
      },
    });
  });

  test('a refused file lookup concerns this task only, and a busy vendor does not', async () => {
    const lookup = (code: number) =>
      hailuo.query(HANDLE, call(replies.success, { base_resp: { status_code: code, status_msg: 'no' } }));
    for (const code of [1004, 1008, 2013, 2049])
      await assert.rejects(lookup(code), (error) => error instanceof PollFailed && error.isOdd, `${code}`);
    for (const code of [1000, 1002])
      await assert.rejects(lookup(code), (error) => error instanceof PollFailed && !error.isOdd);
  });

  test('a file without its first URL is fetched from the backup URL', async () => {
    const file = { file_id: 7, download_url: '', backup_download_url: 'https://backup.example/a.mp4' };
    const { artifact } = await hailuo.query(HANDLE, call(replies.success, { file, base_resp: { status_code: '0' } }));
    assert.deepEqual(artifact, { kind: 'url', url: 'https://backup.example/a.mp4' });
  });

  test('a reason next to a success code is reported', async () => {
    const json = {
      task_id: HANDLE.taskId,
      status: 'Fail',
      err_msg: 'output new_sensitive',
      base_resp: { status_code: 0 },
    };
    const { error } = await query(json);
    assert.deepEqual([error?.reason, error?.message], ['policy', 'output new_sensitive']);
  });
});

describe('h3 protocol', () => {
  const replies = recordedReplies('hailuo/h3-replies');
  const HANDLE = { taskId: '421880017733120', version: 2 };
  const url = (name: string): MediaInput => ({ url: `https://images.example/${name}.png` });
  const body = (request: Partial<VideoRequest>) => {
    const whole = videoRequest({ model: 'MiniMax-H3', ...request });
    return toBodyH3(whole, parseMetadata(whole.metadata));
  };

  test('prompt and images become one content array', () => {
    const { prompt } = videoRequest({ model: 'x' });
    assert.deepEqual(body({ images: [url('a'), url('b')], seconds: 8, metadata: { aigc_watermark: true } }), {
      model: 'MiniMax-H3',
      content: [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: 'https://images.example/a.png' }, role: 'first_frame' },
        { type: 'image_url', image_url: { url: 'https://images.example/b.png' }, role: 'last_frame' },
      ],
      duration: 8,
      resolution: '2K',
      ratio: 'adaptive',
      aigc_watermark: true,
    });
    const roles = (body({ images: [url('a'), url('b'), url('c')] }).content as { role?: string }[]).map(
      ({ role }) => role,
    );
    assert.deepEqual(roles, [undefined, 'reference_image', 'reference_image', 'reference_image']);
  });

  test('a size is a class, or determines the ratio', () => {
    const max = body({ model: 'MiniMax-H3-Max', size: '480p' });
    assert.deepEqual([max.model, max.resolution, max.duration], ['MiniMax-H3-Max', '480P', 5]);
    assert.deepEqual([body({ size: '768P' }).resolution, body({ size: '768p' }).ratio], ['768P', '16:9']);
    assert.equal(body({ size: '720x1280' }).ratio, '9:16');
  });

  const REFUSED: readonly (readonly [Partial<VideoRequest>, string])[] = [
    [{ seconds: 3 }, 'duration'],
    [{ seconds: 16 }, 'duration'],
    [{ size: '1080P' }, 'size'],
    [{ mode: 'std' }, 'mode'],
    [{ model: 'MiniMax-H3-Max', seconds: 4 }, 'duration'],
    [{ model: 'MiniMax-H3-Max', size: '2K' }, 'size'],
    [{ model: 'MiniMax-H3-Max', images: [url('a'), url('b'), url('c')] }, 'images'],
    [{ metadata: { prompt_optimizer: true } }, 'metadata.prompt_optimizer'],
  ];
  for (const [request, param] of REFUSED) {
    test(`${param} of ${JSON.stringify(request)} is refused`, () => {
      assert.throws(
        () => body(request),
        (error) => error instanceof UnsupportedRequestError && error.param === param,
      );
    });
  }

  const STATES = {
    queued: 'QUEUED',
    running: 'IN_PROGRESS',
    succeeded: 'SUCCESS',
    failed: 'FAILURE',
    cancelled: 'FAILURE',
    expired: 'FAILURE',
  };

  for (const [word, state] of Object.entries(STATES)) {
    test(`status ${word} is ${state}`, async () => {
      assert.equal((await hailuo.query(HANDLE, fixedResponseContext({ json: replies[word] }))).state, state);
    });
  }

  for (const [type, { reason }] of Object.entries(CLASS_BY_TYPE_H3)) {
    test(`error ${type} is ${reason}`, () => {
      const json = { type: 'error', error: { type, message: 'words', http_code: '400' } };
      const error = toErrorH3({ status: 400, headers: {}, text: '', json }, 0);
      assert.deepEqual([error.reason, error.code, error.message], [reason, type, 'words']);
    });
  }

  test('the number at the end of the message is more specific than the type', () => {
    const json = { error: { type: 'bad_request_error', message: 'input new_sensitive (1026)' } };
    const error = toErrorH3({ status: 400, headers: {}, text: '', json }, 0);
    assert.deepEqual([error.reason, error.code], ['policy', '1026']);
  });

  test('an error of the first protocol under HTTP 200 is read as in the first', async () => {
    const refusal = (code: number) => ({ base_resp: { status_code: code, status_msg: 'words' } });
    for (const [code, reason] of [
      [1002, 'rate'],
      [1004, 'auth'],
      [1008, 'billing'],
      [1026, 'policy'],
      [2013, 'user'],
    ] as const) {
      const sent = await hailuo.submit(
        videoRequest({ model: 'MiniMax-H3' }),
        fixedResponseContext({ json: refusal(code) }),
      );
      assert.deepEqual([sent.kind, sent.kind === 'refused' && sent.error.reason], ['refused', reason], `${code}`);
    }
    const poll = (code: number) => hailuo.query(HANDLE, fixedResponseContext({ json: refusal(code) }));
    for (const code of [1000, 1002, 1004, 1008])
      await assert.rejects(poll(code), (error) => error instanceof PollFailed && !error.isOdd, `${code}`);
    assert.equal((await poll(2013)).error?.reason, 'missing');
    await assert.rejects(poll(0), (error) => error instanceof PollFailed && error.isOdd);
  });

  test('5,000 mutated responses: no crash, no wrong final state', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryMutatedJson(Object.values(replies)), async (json) => {
        const outcome = await hailuo.query(HANDLE, fixedResponseContext({ json })).catch((error: unknown) => error);
        if (outcome instanceof PollFailed) return;
        assert.ok(!(outcome instanceof Error), String(outcome));
        const { state, artifact } = outcome as QueryOutcome;
        const said = (json as { task: { status: string } }).task.status;
        if (state === 'SUCCESS')
          assert.ok(saysSuccess(said) && artifact?.kind === 'url' && /^https?:/.test(artifact.url));
        if (state === 'FAILURE') assert.ok(saysFailure(said) || saysSuccess(said));
      }),
      { numRuns: 5_000 },
    );
  });
});
