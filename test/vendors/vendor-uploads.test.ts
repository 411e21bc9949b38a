import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { manualClock } from '../../src/sandbox/jobs.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Simulator } from '../../src/sandbox/simulator.ts';
import { countFiles, forgetFiles, hailuo as hailuoSimulator } from '../../src/sandbox/vendors/hailuo.ts';
import { countUploads, forgetUploads, runway as runwaySimulator } from '../../src/sandbox/vendors/runway.ts';
import type { PendingUpload, RequestInput, VendorAdapter, VideoRequest } from '../../src/server/vendors/adapter.ts';
import { hailuo } from '../../src/server/vendors/hailuo/adapter.ts';
import { runway } from '../../src/server/vendors/runway/adapter.ts';
import { submitWithUploads } from '../../src/server/video/attempts.ts';
import { sandboxContext, videoRequest } from './adapter-context.ts';

const CASES: readonly {
  readonly adapter: VendorAdapter;
  readonly simulator: Simulator;
  readonly request: Partial<VideoRequest> & { readonly model: string };
  readonly scheme: RegExp;
  readonly count: () => number;
  readonly forget: () => void;
}[] = [
  {
    adapter: runway,
    simulator: runwaySimulator,
    request: { model: 'aleph2', operation: 'edit', inputSeconds: 5 },
    scheme: /"videoUri":"runway:\/\//,
    count: countUploads,
    forget: forgetUploads,
  },
  {
    adapter: hailuo,
    simulator: hailuoSimulator,
    request: { model: 'MiniMax-H3', operation: 'edit', inputSeconds: 5 },
    scheme: /"url":"mm_file:\/\//,
    count: countFiles,
    forget: forgetFiles,
  },
];

for (const { adapter, simulator, request, scheme, count, forget } of CASES)
  test(`${adapter.title} gets a large file once per account, and again once it has forgotten the file`, async () => {
    const sandbox = await startSandbox({ simulators: [simulator], clock: manualClock() });
    after(() => sandbox.stop());
    const context = sandboxContext(sandbox, simulator.name, { timeoutMs: 20_000 });
    // Other tests may share this process and its simulators.
    forget();
    let loads = 0;
    const upload: PendingUpload = {
      key: 'sha-256 of the film',
      mediaType: 'video/mp4',
      size: 13_000_000,
      load: async () => {
        loads += 1;
        return Buffer.alloc(64, 1);
      },
    };
    const film: RequestInput = { url: 'https://upload.invalid/', upload, role: 'source' };
    const submit = (by = context) => submitWithUploads(videoRequest({ ...request, videos: [film] }), adapter, by);
    const lastSubmit = () =>
      sandbox.control
        .requests()
        .filter(({ method, path }) => method === 'POST' && /video/.test(path) && !/upload|storage/.test(path))
        .at(-1)
        ?.body.toString() ?? '';

    assert.equal((await submit()).kind, 'accepted');
    assert.match(lastSubmit(), scheme);
    assert.equal((await submit()).kind, 'accepted');
    assert.deepEqual([loads, count()], [1, 1], 'the second video reuses the file');

    forget();
    assert.equal((await submit()).kind, 'accepted');
    assert.deepEqual([loads, count()], [2, 1], 'a forgotten file is uploaded again');

    const other = sandboxContext(sandbox, simulator.name, { timeoutMs: 20_000 });
    assert.equal((await submit(other)).kind, 'accepted');
    assert.equal(loads, 3, 'another account has no access to it');
  });
