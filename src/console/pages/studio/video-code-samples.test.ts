import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { createProgram } from '../../../cli/program.ts';
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

const INPUTS = [
  { type: 'image', role: 'keyframe', at: 2, file_id: 'file-1' },
  { type: 'image', role: 'reference', data: 'data:image/png;base64,AAAA' },
];

test('the command names inputs with their roles', () => {
  const { CLI, Python } = videoCodeSamples({ ...BODY, inputs: INPUTS }, 'https://gate.example');
  assert.match(CLI, /--image 'keyframe@2=file-1'/);
  assert.match(CLI, /--image 'reference=https:\/\/example\.com\/image\.png'/);
  assert.doesNotMatch(Python, /base64/);
});

test('the command that changes a video has no option that it does not take, and says so', () => {
  const program = createProgram(false);
  const video = program.commands.find((each) => each.name() === 'video') ?? assert.fail();
  for (const operation of ['edit', 'extend']) {
    const command = video.commands.find((each) => each.name() === operation) ?? assert.fail();
    const body = { ...BODY, operation, seconds: 5, size: '1280x720' };
    const source = { type: 'video', role: 'source', file_id: 'task_1' };
    const { CLI } = videoCodeSamples({ ...body, inputs: [source, ...INPUTS] }, 'https://gate.example');
    assert.match(CLI, new RegExp(`# Without .+\\nreelgate video ${operation} 'task_1' 'true "story"'`));
    const used = [...CLI.matchAll(/(--\w+) /g)].map(([, name]) => name);
    assert.deepEqual(
      used.filter((name) => !command.options.some(({ long }) => long === name)),
      [],
    );
    assert.equal(used.includes('--seconds'), operation === 'extend');
    const plain = {
      model: 'm',
      prompt: 'p',
      operation,
      inputs: [{ type: 'video', role: 'source', url: 'https://a.b/c' }],
    };
    assert.match(videoCodeSamples(plain, 'https://gate.example').CLI, /KEY\nreelgate video \w+ 'source\.mp4' 'p'/);
  }
});
