import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WebhookPreset } from '../../contract/webhooks.ts';
import { manualClock } from '../platform/clock.ts';
import { type BufferedResponse, OutboundError } from '../platform/outbound/outbound.ts';
import type { DeliveryRow } from './delivery-store.ts';
import { newWebhookSecret } from './endpoint-store.ts';
import { CHAT_PRESETS, reportsError, toMessage, WebhookSender } from './sender.ts';

const DELIVERY = { event_id: 'evt_1', event_type: 'wallet.low', event_at: 0, data: '{}' } as DeliveryRow;
const NOW = Date.UTC(2026, 10, 1);

/** One attempt at a receiver whose answer is given. */
function attempt(
  answer: Partial<BufferedResponse> | Error,
  { url = 'https://receiver.example/hook?id=1', preset = 'standard', privateHosts = [] as string[] } = {},
) {
  const postUntrusted = async (): Promise<BufferedResponse> => {
    if (answer instanceof Error) throw answer;
    return { status: 200, headers: {}, text: '', json: undefined, ...answer };
  };
  const sender = new WebhookSender({
    outbound: { postUntrusted },
    clock: manualClock(NOW),
    allowHttp: false,
    privateHosts,
    userAgent: 'reelgate/test',
  });
  const destination = { url, preset: preset as WebhookPreset, secrets: [newWebhookSecret()] };
  return sender.attempt(DELIVERY, destination, new AbortController().signal);
}

it('records what a receiver answered, as far as it can be stored and shown', async () => {
  const text = `\u0000a\ud800${'x'.repeat(5_000)}`;
  const { durationMs, body, ...accepted } = await attempt({ status: 201, text });
  assert.ok(durationMs >= 0 && durationMs < 60_000);
  assert.equal(JSON.parse(body).type, 'wallet.low');
  assert.deepEqual(accepted, {
    startedAt: NOW,
    url: 'https://receiver.example/hook?id=1',
    status: 201,
    response: `a\ufffd${'x'.repeat(2_046)}`,
    error: '',
    isGone: false,
    retryAfterMs: undefined,
    pauseMs: 0,
  });
  const listed = { url: 'https://hooks.internal/x', privateHosts: ['hooks.internal:443'] };
  assert.equal((await attempt({ text }, listed)).response, '', 'nothing from the own network');
  const ofChat = await attempt({ text: 'ok' }, { url: 'https://hooks.slack.com/services/T/B/secret', preset: 'slack' });
  assert.deepEqual([ofChat.url, ofChat.response], ['https://hooks.slack.com', 'ok'], 'nor the secret of a URL');
});

it('counts an answer as success by its status alone', async () => {
  for (const [status, error, isGone, pauseMs] of [
    [199, 'status 199', false, 0],
    [200, '', false, 0],
    [299, '', false, 0],
    [300, 'status 300', false, 0],
    [302, 'status 302', false, 0],
    [404, 'status 404', false, 0],
    [410, 'status 410', true, 0],
    [429, 'status 429', false, 5_000],
    [500, 'status 500', false, 0],
    [503, 'status 503', false, 5_000],
  ] as const) {
    const outcome = await attempt({ status });
    assert.deepEqual([outcome.error, outcome.isGone, outcome.pauseMs], [error, isGone, pauseMs], `${status}`);
  }
  const waiting = await attempt({ status: 500, headers: { 'retry-after': '7' } });
  assert.deepEqual([waiting.retryAfterMs, waiting.pauseMs], [7_000, 0]);
  assert.equal((await attempt({ headers: { 'retry-after': '7' } })).retryAfterMs, undefined);
});

it('records why no answer came, and lets defects of its own through', async () => {
  const lost = await attempt(new OutboundError('connect', 'refused'));
  assert.deepEqual([lost.status, lost.response, lost.error, lost.isGone], [null, '', 'connect: refused', false]);
  assert.deepEqual([lost.retryAfterMs, lost.pauseMs], [undefined, 0]);
  assert.ok(lost.durationMs >= 0 && lost.durationMs < 60_000);
  await assert.rejects(attempt(new TypeError('a defect')), TypeError);
});

it('waits for Discord as long as it asks for, in seconds', async () => {
  const waitFor = async (preset: WebhookPreset, headers: Readonly<Record<string, string>>) => {
    const url = 'https://discord.com/api/webhooks/1/x';
    const { retryAfterMs, pauseMs } = await attempt({ status: 429, headers }, { url, preset });
    return [retryAfterMs, pauseMs];
  };
  const limited = { 'retry-after': '43323', 'x-ratelimit-reset-after': '43.323' };
  assert.deepEqual(await waitFor('discord', limited), [43_323, 43_323]);
  assert.deepEqual(
    await waitFor('discord', { 'retry-after': '600' }),
    [600_000, 600_000],
    'from the network before it',
  );
  assert.deepEqual(await waitFor('slack', limited), [43_323_000, 43_323_000]);
  assert.deepEqual(await waitFor('standard', {}), [undefined, 5_000]);
});

/** Text a user wrote into a ticket, which administrators read in their chat. */
const HOSTILE = '<!channel> <at user_id="all">all</at> @everyone *bold* & <https://a.example|here>';
const message = toMessage('ticket.replied', { id: 7, title: HOSTILE });
const plain = `id: 7\ntitle: ${HOSTILE}`;

it('escapes mentions and links for Slack', () => {
  assert.deepEqual(CHAT_PRESETS.slack.body(message), {
    text: [
      '*Reelgate: ticket.replied*',
      'id: 7',
      'title: &lt;!channel&gt; &lt;at user_id="all"&gt;all&lt;/at&gt; @everyone *bold* &amp; &lt;https://a.example|here&gt;',
    ].join('\n'),
  });
});

it('removes tags for Lark, with which a text could notify everyone', () => {
  const { content } = CHAT_PRESETS.lark.body(message) as { content: { text: string } };
  assert.ok(!content.text.includes('<'));
  assert.match(content.text, /^Reelgate: ticket\.replied\nid: 7\ntitle: ＜!channel> ＜at user_id="all">all/);
});

it('allows no mentions on Discord', () => {
  assert.deepEqual(CHAT_PRESETS.discord.body(message), {
    content: `**Reelgate: ticket.replied**\n${plain}`,
    allowed_mentions: { parse: [] },
  });
});

it('sends plain text to the other services, where no character has a special meaning', () => {
  const title = 'Reelgate: ticket.replied';
  const whole = `${title}\n${plain}`;
  assert.deepEqual(CHAT_PRESETS.dingtalk.body(message), { msgtype: 'text', text: { content: whole } });
  // Without parse_mode.
  assert.deepEqual(CHAT_PRESETS.telegram.body(message), { text: whole });
  assert.deepEqual(CHAT_PRESETS.bark.body(message), { title, body: plain });
  assert.deepEqual(CHAT_PRESETS.gotify.body(message), { title, message: plain, priority: 5 });
});

it('lists the plain values of an event and the message of an error', () => {
  const data = { id: 'video_1', error: { code: 'x', message: 'too long' }, list: [1], ended: true, none: null };
  assert.equal(toMessage('video.failed', data).text, 'id: video_1\nerror: too long\nended: true');
});

it('truncates long texts without splitting a character', () => {
  const long = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`key ${index}`, 'x'.repeat(1_000)]));
  assert.equal(toMessage('a', long).text.length, 1_800);
  const { text } = toMessage('a', { key: `${'x'.repeat(299)}😀` });
  assert.equal(text, `key: ${'x'.repeat(299)}\uFFFD`);
});

it('detects the errors of services that always answer 200', () => {
  assert.equal(reportsError(CHAT_PRESETS.lark, { code: 19_001 }), true);
  assert.equal(reportsError(CHAT_PRESETS.lark, { code: 0 }), false);
  assert.equal(reportsError(CHAT_PRESETS.dingtalk, { errcode: 310_000 }), true);
  for (const answer of [undefined, 'ok', [], { code: 1 }])
    assert.equal(reportsError(CHAT_PRESETS.slack, answer), false);
});
