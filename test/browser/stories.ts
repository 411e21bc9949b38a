import { setTimeout as pause } from 'node:timers/promises';
import type { RunningApp } from '../running-app.ts';

/** The first administrator of a running app. */
export const ROOT = { username: 'root', password: 'root-password-1' };

const WISHES = [
  {
    model: 'kling-v1-6',
    prompt: 'A paper boat drifts down a rainy street at dusk, neon reflections, low tracking shot',
  },
  { model: 'sora-2', prompt: 'Slow dolly through a sunlit greenhouse, dust in the air, 35 mm film', seconds: '8' },
  { model: 'viduq2', prompt: 'A red fox leaps through fresh snow in slow motion', duration: 4 },
  { model: 'kling-v1-6', prompt: 'A clock melts on a table [fail]', metadata: { negative_prompt: 'people' } },
];

/** An account that has been used for a while: money, tokens, videos made and failed. */
export async function fillWithStories({ root }: RunningApp): Promise<void> {
  await root.send('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: 'start' });
  await root.send('POST', '/api/tokens', {
    name: 'render farm',
    quota_limit: 5_000_000,
    models: ['kling-v1-6', 'sora-2'],
  });
  await root.send('POST', '/api/tokens', { name: 'notebook' });
  for (const wish of WISHES) await root.send('POST', '/api/videos', wish);
  for (let looks = 0; looks < 60; looks += 1) {
    const { body } = await root.send('GET', '/api/videos');
    const rows = body.data as { status: string }[];
    if (rows.every(({ status }) => status === 'SUCCESS' || status === 'FAILURE')) return;
    await pause(250);
  }
}
