import { startScript, startService } from './support/child-processes.ts';
import { load } from './support/http-load.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedTasks } from './support/seed-tasks.ts';

/** Query and list times with 10,000 tasks and with 1,000,000: the median must not grow. */
const SIZES = (process.env.SIZES ?? '10000,1000000').split(',').map(Number);

const upstream = await startScript('bench/support/video-jobs-upstream.ts');
let folder: string | undefined;
let key = '';
let have = 0;
const medians: (readonly number[])[] = [];
try {
  for (const size of SIZES) {
    const setup = await startService(4320, { KEEP: '1' }, folder);
    folder = setup.folder;
    if (key === '') {
      await setup.operator.addChannel({
        vendor: 'sora',
        base_url: upstream.origin,
        credentials: { api_key: 'sk-bench' },
        models: ['sora-2'],
      });
      key = await setup.operator.makeToken();
    }
    await setup.stop();
    await seedTasks({
      url: `sqlite:${folder}/bench.db`,
      count: size - have,
      channels: [1],
      userId: 1,
      tokenId: 1,
      unfinished: false,
      prefix: `video_${size}_`,
    });
    have = size;
    const service = await startService(4320, { KEEP: '1' }, folder);
    const headers = { authorization: `Bearer ${key}` };
    const at = (path: (index: number) => string) => ({
      origin: service.origin,
      connections: 8,
      request: (index: number) => ({ method: 'GET' as const, path: path(index), headers }),
    });
    const query = at(
      (index) =>
        `/v1/videos/video_${size}_${(index * 7919) % Math.max(1, size - SIZES.filter((each) => each < size).reduce((a, b) => Math.max(a, b), 0))}`,
    );
    const list = at(() => '/v1/videos?limit=20');
    await load({ ...query, seconds: 1 });
    const queried = await load({ ...query, seconds: 4 });
    const listed = await load({ ...list, seconds: 4 });
    const [atFirst] = medians.push([queried.p50Ms, listed.p50Ms]) > 1 ? medians : [];
    for (const [place, what] of ['query', 'list'].entries())
      if (atFirst !== undefined)
        reportFigure({
          subject: `${what} with ${size} videos, times the median with ${SIZES[0]}`,
          unit: '×',
          measured: (medians.at(-1)?.[place] ?? 0) / (atFirst[place] ?? 1),
          asked: 1.3,
        });
    process.stdout.write(
      `${String(size).padStart(8)} tasks: query p50 ${queried.p50Ms.toFixed(2)} ms, list p50 ${listed.p50Ms.toFixed(2)} ms, failures ${queried.failures + listed.failures} ${queried.firstFailure ?? listed.firstFailure ?? ''}\n`,
    );
    await service.stop();
  }
} finally {
  await upstream.stop();
}
