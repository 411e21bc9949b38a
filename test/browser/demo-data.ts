import { setTimeout as pause } from 'node:timers/promises';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import type { BrowserFixture } from './browser-fixture.ts';

/** The first administrator of the test service. */
export const ROOT = { username: 'root', password: 'root-password-1' };

/** The studio's first model, as in the quickstart. */
export const STUDIO_MODEL = 'kling-v3';

/** The newest is what the studio shows first, so it is neither the failed one nor the shortest. */
const VIDEO_REQUESTS = [
  { model: 'kling-v1-6', prompt: 'A clock melts on a table [fail]', metadata: { negative_prompt: 'people' } },
  { model: 'viduq2', prompt: 'Snow falls on a pine forest in slow motion', duration: 4 },
  { model: 'sora-2', prompt: 'A sailing boat at sunset, slow dolly, 35 mm film', seconds: '8' },
  {
    model: 'kling-v1-6',
    prompt: 'A paper boat drifts down a rainy street at dusk, neon reflections, low tracking shot',
  },
];

const PHONE = '+4915112345678';

/**
 * Fills an account with the data of typical use: credits, API keys, finished and failed videos, a plan, a mailbox,
 * tickets.
 */
export async function fillWithDemoData({
  running: { root },
  phone,
}: Pick<BrowserFixture, 'running' | 'phone'>): Promise<void> {
  await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: 'start' });
  await root.ok('POST', '/api/tokens', {
    name: 'render farm',
    quota_limit: 5_000_000,
    models: ['kling-v1-6', 'sora-2'],
  });
  await root.ok('POST', '/api/tokens', { name: 'notebook' });
  await makeVideos(root);
  await buyPlan(root);
  await signInDevice(root);
  await openTicketsAndApplications(root);
  await root.ok('POST', '/api/user/bindings/phone/code', { phone: PHONE });
  await root.ok('POST', '/api/user/bindings/phone', { phone: PHONE, code: phone.codeOf(PHONE) });
  await root.ok('POST', '/api/user/mailbox/apply', { local_part: 'studio' });
  await root.ok('POST', '/api/user/mailbox/app-password');
}

/** Submits videos and waits until all have finished. */
async function makeVideos(person: TestUser): Promise<void> {
  for (const request of VIDEO_REQUESTS) await person.ok('POST', '/api/videos', request);
  for (let attempts = 0; attempts < 60; attempts += 1) {
    const rows = await person.ok<{ status: string }[]>('GET', '/api/videos');
    if (rows.every(({ status }) => status === 'SUCCESS' || status === 'FAILURE')) return;
    await pause(250);
  }
}

async function buyPlan(root: TestUser): Promise<void> {
  const cards = [
    { package_code: 'start', name: 'Start', level: 1, price_amount: 9, daily_quota: 1_000_000 },
    { package_code: 'studio', name: 'Studio', level: 2, price_amount: 29, daily_quota: 5_000_000 },
    { package_code: 'house', name: 'Production house', level: 3, price_amount: 99, daily_quota: 20_000_000 },
  ];
  for (const card of cards)
    await root.ok('POST', '/api/admin/package-cards', {
      ...card,
      description: 'For people who make videos every day.',
      duration_days: 30,
      weekly_quota_limit: card.daily_quota * 5,
      purchasable: true,
      status: 1,
    });
  const { codes } = await root.ok<{ codes: string[] }>('POST', '/api/admin/redemption-codes', {
    package_code: 'studio',
    count: 1,
  });
  await root.ok('POST', '/api/user/redeem', { code: codes[0] });
}

async function signInDevice(person: TestUser): Promise<void> {
  const { user_code, device_code } = await person.ok<Record<string, string>>('POST', '/api/auth/device/code', {
    client_id: CLI_OAUTH_CLIENT.id,
    client_name: 'Edit suite',
    device_id: 'suite-1',
  });
  await person.ok('POST', '/api/auth/device/approve', { user_code });
  await person.ok('POST', '/api/auth/device/token', {
    device_code,
    client_id: CLI_OAUTH_CLIENT.id,
    client_secret: CLI_OAUTH_CLIENT.secret,
  });
}

/** Opens a ticket with a reply, and applications with a decision. */
async function openTicketsAndApplications(root: TestUser): Promise<void> {
  const { id } = await root.ok<{ id: number }>('POST', '/api/tickets', {
    title: 'The colours of my last video are off',
    content: 'The greenhouse came out much too green. The same prompt was fine yesterday.',
    category: 'video',
  });
  await root.ok('POST', `/api/admin/tickets/${id}/replies`, {
    content:
      'Thank you for the report. The vendor has changed its model overnight; a seed of yesterday gives the old look.',
  });
  await root.ok('POST', '/api/tickets', { title: 'May I have an invoice?', content: 'For November, please.' });
  const { id: granted } = await root.ok<{ id: number }>('POST', '/api/beta-applications', {
    feature: 'Side-by-side comparison',
    reason: 'We choose models for clients every week.',
  });
  await root.ok('POST', `/api/admin/beta-applications/${granted}/approve`, { note: 'Have fun.' });
  await root.ok('POST', '/api/beta-applications', { feature: 'Storyboards', reason: 'For a short film.' });
}
