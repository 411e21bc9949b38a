import { startScript, startService } from './support/child-processes.ts';
import { type LoadResult, load } from './support/http-load.ts';
import { cpuSeconds, memoryMb } from './support/process-usage.ts';
import { postBytes, type RawLoadResult, rawLoad } from './support/raw-socket-load.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * Submits and queries of one process on SQLite, synchronous=FULL, against an upstream that responds immediately. A
 * low-cost generator sends the submits, because the machine's cores are shared; an ordinary HTTP client sends the
 * queries.
 */
const CONNECTIONS = 64;
const ASKED: Readonly<Record<string, number>> = { submit: 4_000, query: 12_000 };
const SECONDS = Number(process.env.SECONDS ?? '10');
/** Until the hot functions are compiled. */
const WARM_SECONDS = 4;

const upstream = await startScript('bench/support/video-jobs-upstream.ts');
// A long period, so that tasks of the first half are not polled during the second.
const service = await startService(4300, { SYNC_PERIOD_SECONDS: '300' });
try {
  const { operator, pid, origin } = service;
  process.stdout.write(`cold start ${service.startMs.toFixed(0)} ms, idle memory ${memoryMb(pid)} MB\n`);
  await operator.addChannel({
    vendor: 'sora',
    base_url: upstream.origin,
    credentials: { api_key: 'sk-bench' },
    models: ['sora-2'],
  });
  await operator.grantQuota(1_000_000_000_000_000 - 1);
  const key = await operator.makeToken();
  const headers = { authorization: `Bearer ${key}` };
  const body = JSON.stringify({ model: 'sora-2', prompt: 'a heron lands on a jetty' });
  const port = Number(new URL(origin).port);
  const submits = { port, connections: CONNECTIONS, request: postBytes('/v1/videos', headers, body) };
  await rawLoad({ ...submits, seconds: WARM_SECONDS });
  await measured('submit', pid, async () => inMs(await rawLoad({ ...submits, seconds: SECONDS })));
  const page = (await (await fetch(`${origin}/v1/videos?limit=100`, { headers })).json()) as { data: { id: string }[] };
  const ids = page.data.map(({ id }) => id);
  const queries = {
    origin,
    connections: CONNECTIONS,
    request: (index: number) => ({ method: 'GET' as const, path: `/v1/videos/${ids[index % ids.length]}`, headers }),
  };
  await load({ ...queries, seconds: WARM_SECONDS });
  await measured('query', pid, () => load({ ...queries, seconds: SECONDS }));
  process.stdout.write(`memory after load ${memoryMb(pid)} MB\n`);
} finally {
  await service.stop();
  await upstream.stop();
}

function inMs(result: RawLoadResult): LoadResult {
  return { ...result, p50Ms: result.p50Us / 1_000, p99Ms: result.p99Us / 1_000 };
}

async function measured(name: string, pid: number, run: () => Promise<LoadResult>): Promise<void> {
  const before = cpuSeconds(pid);
  const result = await run();
  const cpu = ((cpuSeconds(pid) - before) / result.requests) * 1e6;
  const asked = ASKED[name];
  if (asked !== undefined)
    reportFigure({ subject: `${name} of a video, SQLite`, unit: '/s', measured: result.perSecond, asked });
  reportFigure({ subject: `${name} of a video, SQLite, CPU`, unit: 'µs', measured: cpu });
  process.stdout.write(
    `${name.padEnd(8)} ${result.perSecond.toFixed(0).padStart(7)}/s  p50 ${result.p50Ms.toFixed(1)} ms  p99 ${result.p99Ms.toFixed(1)} ms  ${cpu.toFixed(0)} µs CPU a request  failures ${result.failures} ${result.firstFailure ?? ''}\n`,
  );
}
