import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Reelgate, ReelgateError } from '../../src/sdk/index.ts';
import { CliMachine } from '../cli-process-harness.ts';
import { type ChatService, startChat } from './chat-fixture.ts';

describe('reelgate chat', () => {
  let service: ChatService;
  let machine: CliMachine;
  before(async () => {
    service = await startChat('sqlite::memory:');
    machine = new CliMachine(service.baseUrl);
    await machine.storeCredentials(service.operator);
  });
  after(async () => {
    await service.stop();
    machine.remove();
  });
  const ask = (...args: string[]) => machine.run('chat', '-m', 'sandbox-chat', ...args);
  const lastQuestion = (): { messages: { role: string; content: unknown }[]; max_tokens?: number } =>
    JSON.parse(service.sandbox.control.requests({ vendor: 'openai' }).at(-1)?.body.toString() ?? '{}');

  test('asks with the llm_token of a sign-in and prints only the answer to standard output', async () => {
    assert.deepEqual(await ask('[chunks=4]'), { code: 0, stdout: 'the light of day\n', stderr: '' });
    assert.equal((await ask('[chunks=2]', '--no-stream')).stdout, 'the light\n');
    const document = JSON.parse((await ask('[chunks=2]', '--json')).stdout);
    assert.equal(document.content, 'the light');
    assert.equal(document.finish_reason, 'stop');
    assert.equal(document.usage.completion_tokens, 2);
    assert.deepEqual(JSON.parse((await ask('[chunks=2]', '--json', '--no-stream')).stdout), document);
  });

  test('reads the question from standard input, with instructions, a token limit and an image', async () => {
    const image = join(machine.folder, 'dot.png');
    writeFileSync(image, Buffer.from('iVBORw0KGgo=', 'base64'));
    const options = ['-s', 'Be brief.', '-i', image, '--max-tokens', '3'];
    const { code, stdout, stderr } = await machine.runWithInput(
      '[chunks=9]\n',
      'chat',
      '-m',
      'sandbox-chat',
      ...options,
    );
    assert.deepEqual(
      [code, stdout, stderr],
      [0, 'the light of\n', 'The response was cut off at the maximum length.\n'],
    );
    const { messages, max_tokens } = lastQuestion();
    assert.equal(max_tokens, 3);
    assert.deepEqual(messages[0], { role: 'system', content: 'Be brief.' });
    assert.deepEqual((messages[1]?.content as unknown[] | undefined)?.[1], {
      type: 'image_url',
      image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' },
    });
  });

  test('counts the tokens of a question free of charge and names the counter', async () => {
    const before = service.sandbox.control.requests({ vendor: 'openai' }).length;
    const { code, stdout } = await ask('--count', 'Name three rivers');
    assert.equal(code, 0);
    assert.match(stdout, /^\d+\n$/);
    const document = JSON.parse((await ask('--count', 'Name three rivers', '-s', 'Be brief.', '--json')).stdout);
    assert.deepEqual([document.model, document.source], ['sandbox-chat', 'estimate']);
    assert.ok(document.tokens > Number(stdout));
    assert.equal(service.sandbox.control.requests({ vendor: 'openai' }).length, before, 'nothing is asked');
    assert.equal((await ask('--count', 'x', '-i', 'https://a.example/a.png')).code, 2);
    assert.equal((await machine.run('chat', '-m', 'no-such-model', '--count', 'x')).code, 1);
  });

  test('reports why a call failed, before the answer and in the middle of it', async () => {
    assert.equal((await ask('')).code, 2);
    assert.equal((await machine.run('chat', 'hi')).code, 2);
    const unknown = await machine.run('chat', '-m', 'nothing', 'hi');
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /nothing.*\n.*reelgate models/);
    const cut = await ask('[chunks=9] [cut=2]');
    assert.deepEqual([cut.code, cut.stdout], [1, 'the light\n']);
    assert.match(cut.stderr, /^Error: .+ended its response too early/);
    const anonymous = new CliMachine(service.baseUrl);
    assert.equal((await anonymous.run('chat', '-m', 'sandbox-chat', 'hi')).code, 3);
    anonymous.remove();
  });

  test('cancels the model call when an answer is interrupted', async () => {
    const command = machine.start('chat', '-m', 'sandbox-chat', '[chunks=500] [delay=20]');
    while (!command.stdout.includes('light')) await new Promise((resolve) => setTimeout(resolve, 20));
    command.interrupt();
    assert.equal((await command.exited).code, 130);
    const [end] = await service.waitUntilSettled();
    assert.ok(end?.kind === 'settle' && end.charged < 1_000, JSON.stringify(end));
  });

  test('the SDK returns chunks, whole answers and every event', async () => {
    const { chat } = new Reelgate({ baseUrl: service.baseUrl, credentials: { apiKey: service.key } });
    const request = { model: 'sandbox-chat', messages: [{ role: 'user', content: '[chunks=3]' }] } as const;
    const pieces: string[] = [];
    for await (const piece of chat.stream(request)) pieces.push(piece);
    assert.deepEqual(pieces, ['the', ' light', ' of']);
    assert.equal((await chat.complete(request)).usage?.completion_tokens, 3);
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    let called = '';
    for await (const event of chat.events({ ...request, tools })) called += JSON.stringify(event.choices?.[0]?.delta);
    assert.match(called, /weather/);
    for await (const _ of chat.stream({ ...request, messages: [{ role: 'user', content: '[chunks=300] [delay=5]' }] }))
      break;
    const [end] = await service.waitUntilSettled();
    assert.ok((end?.charged ?? 0) < 300, 'who stops listening stops paying');
    const broken = chat.stream({ ...request, messages: [{ role: 'user', content: '[chunks=3] [error=1]' }] });
    await assert.rejects(
      async () => {
        for await (const _ of broken);
      },
      (error) => error instanceof ReelgateError && error.code === 'answer_broken_off',
    );
  });
});
