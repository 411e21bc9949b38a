import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { FAULT_KINDS, type FaultKind } from './faults.ts';
import { findSentImage } from './first-frame.ts';
import { type JobSnapshot, manualClock } from './jobs.ts';
import { CLIP_NAMES, clip, loadMedia } from './media.ts';
import { openaiSimulator } from './openai.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from './sandbox.ts';
import { defineSimulator, jsonResponse } from './simulator.ts';
import { sora } from './vendors/sora.ts';

const toySimulator = defineSimulator({
  name: 'toy',
  credentials: ({ url }) => ({ api_key: 'key', token_uri: `${url}/token` }),
  authorize: (request) =>
    request.headers.authorization === 'Bearer key' ? undefined : jsonResponse(401, { code: 'who' }),
  problem: (problem, message) => jsonResponse(problem === 'rate' ? 429 : 400, { code: problem, message }),
  routes: [
    {
      method: 'POST',
      path: '/jobs',
      operation: 'submit',
      handle(request, context) {
        const body = request.json();
        const prompt = String(body?.prompt);
        return jsonResponse(200, {
          id: context.createJob({ prompt, model: 'm', input: body, externalId: String(body?.ours) }).id,
        });
      },
    },
    {
      method: 'GET',
      path: /^\/jobs\/(?<id>[^/]+)$/,
      operation: 'query',
      handle({ params }, context) {
        const job = context.jobs.find(params.id ?? '');
        if (!job) return jsonResponse(404, { code: 'unknown job' });
        return jsonResponse(200, { ...context.pollJob(job), url: context.artifactUrl(job) });
      },
    },
    { method: 'POST', path: '/token', operation: 'token', open: true, handle: () => jsonResponse(200, { token: 't' }) },
  ],
});

test('a clip follows the words of the prompt, the look of its vendor, its shape and its sound', () => {
  const name = (prompt: string, vendor = 'kling') => clip({ prompt, shape: '16:9', audio: true }, vendor).name;
  assert.deepEqual(
    ['a boat on the ocean', '海边的日落', 'the skyline', '窗边女子特写'].map((each) => name(each)),
    ['sea-1.mp4', 'sea-1.mp4', 'city-1.mp4', 'portrait-1.mp4'],
  );
  const looks = ['kling', 'sora', 'seedance', 'veo'].map((vendor) => name('a neon street', vendor));
  assert.equal(new Set(looks).size, 4);
  assert.equal(name('qwerty'), name('qwerty'));
  const takes = [0, 1, 2, 3].map((take) => clip({ prompt: 'the sea', shape: '16:9', audio: true, take }, 'kling').name);
  assert.equal(new Set(takes).size, 4, 'variations differ');
  assert.equal(clip({ prompt: 'the sea', shape: '9:16', audio: true }).name, 'sea-tall-1.mp4');
  assert.equal(clip({ prompt: 'a paper boat in the rain', shape: '9:16', audio: true }).name, 'street-tall-1.mp4');
  assert.equal(clip({ prompt: 'a forest', shape: '1:1', audio: true }).name, 'forest-square-1.mp4');
});

test('upright and square clips differ by vendor and by variation as wide ones do', () => {
  for (const shape of ['16:9', '9:16', '1:1'] as const)
    for (const prompt of ['a neon street', 'the sea', 'zzz']) {
      const vendors = ['kling', 'sora', 'seedance', 'veo'].map((each) => clip({ prompt, shape, audio: true }, each));
      assert.equal(new Set(vendors.map(({ etag }) => etag)).size, 4, `${prompt} ${shape} by vendor`);
      const takes = [0, 1, 2, 3].map((take) => clip({ prompt, shape, audio: true, take }, 'kling'));
      assert.equal(new Set(takes.map(({ etag }) => etag)).size, 4, `${prompt} ${shape} by variation`);
    }
});

test('a clip without sound is the same file with its sound track as free space', () => {
  const [loud, silent] = [true, false].map((audio) => clip({ prompt: 'sea', shape: '16:9', audio }).bytes);
  assert.equal(loud?.length, silent?.length);
  assert.equal(countTracks(loud), 2);
  assert.equal(countTracks(silent), 1);
});

test('every clip and its poster are in the package', () => {
  for (const each of CLIP_NAMES)
    for (const type of ['mp4', 'webp']) assert.ok(loadMedia(`${each}.${type}`).bytes.length);
});

const countTracks = (file: Buffer | undefined): number =>
  (file?.toString('latin1').match(/trak[\s\S]{4}tkhd/g) ?? []).length;

let running: Sandbox | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function start(options: Partial<SandboxOptions> = {}) {
  const sandbox = await startSandbox({ simulators: [toySimulator], ...options });
  running = sandbox;
  const headers = { authorization: 'Bearer key' };
  const submit = async (prompt: string) =>
    fetch(`${sandbox.url('toy')}/jobs`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ prompt, ours: 'task_1' }),
      signal: AbortSignal.timeout(2_000),
    });
  const begin = async (prompt: string) => String(((await (await submit(prompt)).json()) as { id: string }).id);
  const poll = async (id: string) =>
    (await (await fetch(`${sandbox.url('toy')}/jobs/${id}`, { headers })).json()) as JobSnapshot & { url: string };
  return { sandbox, submit, begin, poll };
}

test('jobs change state with the clock, and their file is a playable MP4 with ranges', async () => {
  const clock = manualClock();
  const { sandbox, begin, poll } = await start({ clock, timing: { queuedMs: 1_000, runningMs: 4_000 } });
  const id = await begin('a cat');
  assert.equal((await poll(id)).phase, 'queued');
  clock.advance(2_000);
  assert.deepEqual([(await poll(id)).phase, (await poll(id)).progress], ['running', 25]);
  clock.advance(4_000);
  const done = await poll(id);
  assert.equal(done.phase, 'succeeded');
  assert.equal(sandbox.control.jobs('toy')[0]?.polls, 4);
  assert.equal(sandbox.control.jobs('toy')[0]?.externalId, 'task_1');

  const whole = await fetch(done.url);
  const bytes = Buffer.from(await whole.arrayBuffer());
  assert.equal(whole.headers.get('content-type'), 'video/mp4');
  assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
  assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'), 'moov comes first');
  const part = await fetch(done.url, { headers: { range: 'bytes=10-19' } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get('content-range'), `bytes 10-19/${bytes.length}`);
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10, 20));
  assert.equal((await fetch(done.url, { headers: { range: `bytes=${bytes.length}-` } })).status, 416);
  const head = await fetch(done.url, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(bytes.length)]);
  const again = await fetch(done.url, { headers: { 'if-none-match': whole.headers.get('etag') ?? '' } });
  assert.equal(again.status, 304);
});

test('routes require credentials unless they are open, and a channel learns its own URL', async () => {
  const { sandbox } = await start();
  assert.equal((await fetch(`${sandbox.url('toy')}/jobs`, { method: 'POST' })).status, 401);
  const credentials = sandbox.credentials('toy');
  assert.equal((await fetch(String(credentials.token_uri), { method: 'POST' })).status, 200);
});

test('a dropped submit has started its job, a reset one has not', async () => {
  const { sandbox, submit } = await start();
  sandbox.control.fault({ vendor: 'toy', operation: 'submit', kind: 'drop' });
  await assert.rejects(submit('one'));
  assert.equal(sandbox.control.jobs('toy').length, 1);
  sandbox.control.fault({ vendor: 'toy', operation: 'submit', kind: 'reset' });
  await assert.rejects(submit('two'));
  assert.equal(sandbox.control.jobs('toy').length, 1);
  assert.equal((await submit('three')).status, 200);
});

test('a fault affects the given number of requests, after the given number of successful ones', async () => {
  const { sandbox, submit } = await start();
  const handle = sandbox.control.fault({ kind: '429', operation: 'submit', times: 2, after: 1, retryAfter: '7' });
  const answers = [await submit('a'), await submit('b'), await submit('c'), await submit('d')];
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 429, 429, 200],
  );
  assert.equal(answers[1]?.headers.get('retry-after'), '7');
  assert.equal(handle.timesUsed, 2);
});

test('the same seed affects the same requests, and a share of zero affects none', async () => {
  const { sandbox, begin, poll } = await start({ timing: { queuedMs: 0, runningMs: 0 } });
  const prompts = Array.from({ length: 30 }, (_, n) => `cat ${n}`);
  const ids = await Promise.all(prompts.map(begin));
  const run = async (seed: number, share: number) => {
    sandbox.control.deviate({ seed, share });
    for (const job of sandbox.control.jobs('toy')) job.polls = 0;
    sandbox.control.clearRequests();
    await Promise.all(ids.map((id) => poll(id).catch(() => undefined)));
    return sandbox.control
      .requests()
      .map(({ path, deviation }) => `${path} ${deviation}`)
      .sort();
  };
  const first = await run(1, 0.5);
  const affected = first.filter((each) => !each.endsWith('undefined'));
  assert.ok(affected.length > 5 && affected.length < 25, `${affected.length} of 30`);
  assert.deepEqual(await run(1, 0.5), first);
  assert.notDeepEqual(await run(2, 0.5), first);
  assert.ok((await run(1, 0)).every((each) => each.endsWith('undefined')));
});

test('a chat call gets a recorded response, and a refused submit leaves no job', async () => {
  const shape = { name: 'only a word', body: { choices: [{ message: { content: 'odd' } }] } };
  const { sandbox } = await start({
    simulators: [openaiSimulator, sora],
    deviations: { seed: 1, share: 1, chat: { chat: [shape] } },
  });
  const send = async (name: string, path: string, body: object) =>
    fetch(`${sandbox.url(name)}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${String(sandbox.credentials(name).api_key)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
  assert.deepEqual(await (await send('openai', '/v1/chat/completions', { messages: [] })).json(), shape.body);
  assert.equal(sandbox.control.requests()[0]?.deviation, shape.name);
  for (let n = 0; n < 80; n += 1) await send('sora', '/v1/videos', { prompt: `cat ${n}` }).catch(() => undefined);
  const refused = sandbox.control
    .requests({ vendor: 'sora' })
    .filter(({ deviation }) => deviation?.includes('refusal'));
  assert.ok(refused.length > 0);
  assert.equal(sandbox.control.jobs('sora').length, 80 - refused.length);
});

test('a marker in the prompt causes a fault', async () => {
  const { begin, poll, submit } = await start({ timing: { queuedMs: 0, runningMs: 0 } });
  assert.equal((await poll(await begin('a cat [fail]'))).phase, 'failed');
  assert.equal((await submit('a cat [429]')).status, 429);
  assert.equal((await poll(await begin('a cat [dog]'))).phase, 'succeeded');
});

const ENDLESS: readonly FaultKind[] = ['hang', 'hang-after', 'stall', 'slow', 'huge', 'bomb'];
test('the simulator survives every fault', async () => {
  const { sandbox, submit } = await start();
  for (const kind of FAULT_KINDS.filter((name) => !ENDLESS.includes(name))) {
    sandbox.control.fault({ kind, operation: 'submit' });
    await submit('a cat')
      .then((answer) => answer.arrayBuffer())
      .catch(() => undefined);
    assert.equal((await submit('a cat')).status, 200, kind);
  }
});

test('endless responses end when the sandbox stops', async () => {
  const { sandbox, submit } = await start();
  for (const kind of ENDLESS) {
    sandbox.control.fault({ kind, operation: 'submit' });
    const open = submit('a cat').then((answer) => answer.body?.cancel());
    if (kind.startsWith('hang')) await assert.rejects(open);
    else await open;
  }
  assert.equal((await submit('a cat')).status, 200);
});

test('the image of a request is found as Base64, as a data URL, and in a form', async () => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUg==', 'base64');
  const form = new FormData();
  form.set('prompt', 'the sea');
  const none = { json: () => undefined, form: () => Promise.resolve(form) };
  const jsonOf = (body: Record<string, unknown>) => findSentImage({ ...none, json: () => body });
  assert.deepEqual(await jsonOf({ prompt: 'x', input: { images: [{ url: png.toString('base64') }] } }), png);
  assert.deepEqual(await jsonOf({ image: `data:image/png;base64,${png.toString('base64')}` }), png);
  assert.equal(await jsonOf({ prompt: 'the sea', image: 'https://example.com/image.png' }), undefined);
  assert.equal(await findSentImage(none), undefined);
  form.set('input_reference', new Blob([png], { type: 'image/png' }), 'image.png');
  assert.deepEqual(await findSentImage(none), png);
});
