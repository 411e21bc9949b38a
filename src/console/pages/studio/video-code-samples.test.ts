import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { videoCodeSamples } from './video-code-samples.ts';

const BODY = { model: 'm', prompt: 'true "story"', metadata: { sound: true, seed: null } };

test('the Python sample uses Python literals for JSON values, and leaves texts unchanged', () => {
  const text = videoCodeSamples(BODY, 'https://gate.example').Python;
  assert.match(text, /"sound": True,\n\s+"seed": None/);
  assert.match(text, /"prompt": "true \\"story\\""/);
});

const runNodeSample = async (context: TestContext, answers: readonly object[], ok = true): Promise<string[]> => {
  const calls: string[] = [];
  const left = [...answers];
  context.mock.method(globalThis, 'fetch', (url: string, init: { method?: string; body?: string }) => {
    calls.push(`${init.method ?? 'GET'} ${url}`);
    return Promise.resolve({ ok, json: () => left.shift(), arrayBuffer: () => new ArrayBuffer(0) });
  });
  // The last line writes a file; everything before it runs as shown.
  const lines = videoCodeSamples(BODY, 'https://gate.example')['Node.js'].split('\n').slice(1, -1);
  const run = new Function(`return (async () => {${lines.join('\n')}})()`) as () => Promise<void>;
  await run();
  return calls;
};

test('the Node sample submits the request, waits for the result and fetches the file', async (context) => {
  const calls = await runNodeSample(context, [
    { id: 'v1', status: 'queued' },
    { id: 'v1', status: 'completed' },
  ]);
  assert.deepEqual(calls, [
    'POST https://gate.example/v1/videos',
    'GET https://gate.example/v1/videos/v1?wait=60',
    'GET https://gate.example/v1/videos/v1/content',
  ]);
});

test('the Node sample ends with the reason of a failure instead of a file', async (context) => {
  const failed = { id: 'v1', status: 'failed', error: { message: 'The prompt was refused.' } };
  await assert.rejects(runNodeSample(context, [failed]), /The prompt was refused/);
});

test('the Node sample ends with the reason of a rejected request', async (context) => {
  const rejected = { error: { message: 'Not enough credits.' } };
  await assert.rejects(runNodeSample(context, [rejected], false), /Not enough credits/);
});

test('the curl sample runs in a shell: it waits, saves the file of a finished video only, and ends with an error', () => {
  const sample = videoCodeSamples({ ...BODY, prompt: "it's" }, 'https://gate.example').curl;
  const fakeCurl = (submitted: string, ended: string): string =>
    `curl() { case "$*" in *content*) echo saved;; *wait*) echo '${ended}';; *) echo '${submitted}';; esac; }`;
  // The filters of the sample in JavaScript, because jq may be missing.
  const fakeJq = `jq() { node -e '
    const [filter, video] = [process.argv.at(-1), JSON.parse(require("node:fs").readFileSync(0))];
    const expression = filter.replaceAll(/(?<!\\w)\\./g, "video?.").replaceAll(" and ", " && ");
    const value = new Function("video", "return " + expression)(video);
    console.log(value ?? null);
    process.exitCode = value ? 0 : 1;
  ' -- "$@"; }`;
  const run = (submitted: object, ended: object): string => {
    const fakes = [fakeCurl(JSON.stringify(submitted), JSON.stringify(ended)), fakeJq];
    return execFileSync('bash', ['-c', [...fakes, sample].join('\n')], { encoding: 'utf8', timeout: 60_000 }).trim();
  };
  const queued = { id: 'v1', status: 'queued' };
  const error = { message: 'refused' };
  assert.equal(run(queued, { id: 'v1', status: 'completed' }), 'saved');
  assert.equal(run(queued, { id: 'v1', status: 'failed', error }), 'refused');
  assert.equal(run({ error }, {}), 'refused', 'a rejected request');
  assert.equal(run(queued, { error }), 'refused', 'a rejected poll');
});

test('the command names inputs with their roles, and the video it edits', () => {
  const inputs = [
    { type: 'video', role: 'source', file_id: 'task_1' },
    { type: 'image', role: 'keyframe', at: 2, file_id: 'file-1' },
    { type: 'image', role: 'reference', data: 'data:image/png;base64,AAAA' },
  ];
  const { CLI, Python } = videoCodeSamples({ ...BODY, operation: 'edit', inputs }, 'https://gate.example');
  assert.match(CLI, /reelgate video edit 'task_1' 'true "story"'/);
  assert.match(CLI, /--image 'keyframe@2=image\.png'/);
  assert.match(CLI, /--image 'reference=https:\/\/example\.com\/image\.png'/);
  assert.doesNotMatch(Python, /base64/);
});
