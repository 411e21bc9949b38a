import assert from 'node:assert/strict';
import { test } from 'node:test';
import en from '../../../strings/en/account.ts';
import { CLIENTS, type Client } from './clients.ts';

const CONNECTION = {
  origin: 'https://gate.example',
  apiKey: 'sk-abc',
  model: 'gpt-x',
  videoModel: 'kling-v3',
  siteName: '视频站 ÿþ?>',
  version: '9.8.7',
};

test('every client has a hint, and its samples contain the base URL and the key', () => {
  assert.ok(CLIENTS.length >= 14);
  for (const client of CLIENTS) {
    const text = client
      .samples(CONNECTION)
      .map((sample) => sample.text)
      .join('\n');
    assert.ok(text.includes('https://gate.example') && text.includes('sk-abc'), client.id);
    assert.ok(en.connect.hints[client.id].length > 10, client.id);
  }
});

test('Claude Code gets a model for its small calls and for each alias too', () => {
  const [sample] = CLIENTS.find(({ id }) => id === 'claudeCode')?.samples(CONNECTION) ?? [];
  for (const name of ['ANTHROPIC_MODEL', 'HAIKU_MODEL', 'SONNET_MODEL', 'OPUS_MODEL'])
    assert.match(sample?.text ?? '', new RegExp(`${name}=gpt-x`));
});

test('deep links carry the base URL and the key in the format their clients parse', () => {
  const linkOf = (id: string): URL => {
    const client: Client | undefined = CLIENTS.find((each) => each.id === id);
    return new URL(client?.link?.(CONNECTION) ?? '');
  };
  const decode = (text: string) => JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
  const cherry = linkOf('cherryStudio').searchParams.get('data') ?? '';
  assert.doesNotMatch(cherry, /[+/]/);
  assert.deepEqual(decode(cherry.replaceAll('_', '+').replaceAll('-', '/')), {
    id: 'reelgate',
    name: CONNECTION.siteName,
    type: 'openai',
    baseUrl: CONNECTION.origin,
    apiKey: CONNECTION.apiKey,
  });
  const chatbox = decode(linkOf('chatbox').searchParams.get('config') ?? '');
  assert.equal(chatbox.settings.apiHost + chatbox.settings.apiPath, 'https://gate.example/v1/chat/completions');
  assert.equal(chatbox.settings.apiKey, 'sk-abc');
});

test('the first clients generate a video, and say why one failed', () => {
  const [first, second, third] = CLIENTS;
  assert.deepEqual(
    [first, second, third].map(({ group }) => group),
    ['video', 'video', 'video'],
  );
  for (const { id, samples } of CLIENTS.filter((client: Client) => client.group === 'video')) {
    const text = samples(CONNECTION)
      .map((sample) => sample.text)
      .join('\n');
    assert.match(text, /kling-v3/, id);
    assert.doesNotMatch(text, /YOUR_API_KEY/, id);
    if (id !== 'cli') assert.match(text, /error/, id);
  }
});

test('clients of ours are installed from the release of the service', () => {
  const textOf = (id: string): string =>
    (CLIENTS.find((client) => client.id === id)?.samples(CONNECTION) ?? []).map(({ text }) => text).join('\n');
  assert.match(textOf('cli'), /npm install -g reelgate-cli-9\.8\.7\.tgz/);
  assert.match(textOf('videoSdk'), /npm install reelgate-sdk-9\.8\.7\.tgz/);
});

test('clients in containers reach a service on the same machine by the name of the host', () => {
  const local = { ...CONNECTION, origin: 'http://127.0.0.1:3000' };
  for (const id of ['openWebUi', 'libreChat']) {
    const text = CLIENTS.find((client) => client.id === id)
      ?.samples(local)
      .map((sample) => sample.text)
      .join('\n');
    assert.match(text ?? '', /http:\/\/host\.docker\.internal:3000\/v1/, id);
    assert.doesNotMatch(text ?? '', /127\.0\.0\.1/, id);
  }
});
