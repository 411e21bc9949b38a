import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anthropicSimulator } from './anthropic.ts';
import { composeChatReply } from './chat-reply.ts';
import { geminiSimulator } from './gemini.ts';
import { openaiSimulator } from './openai.ts';
import { startSandbox } from './sandbox.ts';

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const ask = (prompt: string, system?: string): string => composeChatReply(system, [user(prompt)]) ?? '';

test('a question is answered about its topic, in its language, and named as simulated', () => {
  const answers: readonly (readonly [prompt: string, expected: RegExp])[] = [
    ['What is the capital of France?', /^About the capital of France: this answer is simulated, because a real model/],
    ['How do I boil an egg?', /^About “How do I boil an egg”: .* once a channel is added\.$/],
    ['Tell me about whales', /^About whales: /],
    ['为什么天空是蓝色的？', /^关于“为什么天空是蓝色的”：这是模拟的回答，添加渠道后/],
    [
      "Quelle est la capitale de l'Italie ?",
      /^À propos de « la capitale de l'Italie » : cette réponse est simulée, car/,
    ],
    ['Was ist ein schwarzes Loch?', /^Zu „ein schwarzes Loch“: Diese Antwort ist simuliert, weil/],
    ['¿Cuál es la capital de España?', /^Sobre la capital de España: esta respuesta es simulada, porque/],
    ['Answer in French: what is a black hole?', /^À propos de « a black hole » :/],
    ['Why is the sky blue? Answer auf Deutsch.', /^Zu „Why is the sky blue“:/],
    ['用中文解释黑洞', /^关于黑洞：/],
    ['用英文回答：什么是人工智能？', /^About 人工智能: /],
    ['Explain rain in Spanish', /^Sobre rain: /],
  ];
  for (const [prompt, expected] of answers) assert.match(ask(prompt), expected, prompt);
  assert.match(ask('What is rain?', 'Always answer in Spanish.'), /^Sobre rain: /);
});

test('a greeting, one or two words and a prompt with directives get the fixed words', () => {
  for (const prompt of ['Hello', 'Hi there', '你好', 'thanks', 'x', 'What is rain? [chunks=3]', 'Rain? [call=Read]'])
    assert.equal(ask(prompt), '', prompt);
});

test('the format of the request is kept', () => {
  assert.equal(ask('List three rivers in Europe').match(/^\d\. rivers in Europe, point \d$/gm)?.length, 3);
  assert.equal(ask('Nenne fünf Flüsse in Europa').match(/^\d\. Flüsse in Europa, Punkt \d$/gm)?.length, 5);
  assert.equal(ask('列出5个水果').match(/^\d\. 水果，要点 \d$/gm)?.length, 5);
  assert.equal(ask('Write a numbered list of 4 things to pack').split('\n').length, 4);
  assert.equal(ask('Answer in one word: what colour is the sky?'), 'Simulated');
  assert.equal(ask('Is Paris in France? Answer yes or no.'), 'Yes');
  for (const prompt of ['Write 3 sentences about rain.', 'Erkläre mir Regen in drei Sätzen.'])
    assert.equal(ask(prompt).match(/[.:] ?/g)?.length, 1 + 3, 'a colon and three full stops');
  assert.equal(ask('用三句话介绍上海').match(/。/g)?.length, 3);
  assert.equal(ask('请用两句话说明，不要列表').match(/。/g)?.length, 2);
  for (const prompt of ['Return JSON with keys name and age', '以 JSON 返回 name 和 age', '返回 JSON，字段：name、age'])
    assert.equal(ask(prompt), '{"name":"text","age":"text"}', prompt);
  for (const limit of [5, 12, 30])
    assert.ok(ask(`Describe the sea in at most ${limit} words.`).split(' ').length <= limit, `${limit}`);
  assert.equal(ask('Describe the sea in exactly 25 words.').split(' ').length, 25);
  assert.ok([...ask('请用不超过20个字介绍长城')].length <= 20);
  assert.equal(
    ask('Give me a markdown table of rivers with columns name, length and 2 rows'),
    '| name | length |\n| --- | --- |\n| rivers, point 1 | simulated |\n| rivers, point 2 | simulated |',
  );
  assert.match(ask('Compare Rust and Go in a table'), /\n\| Rust \| simulated \|\n\| Go \| simulated \|$/);
  assert.match(ask('Reply in a code block: what is HTTP?'), /^```\nAbout HTTP: .*\n```$/);
});

test('verses and functions are written', () => {
  assert.match(ask('Write a haiku about autumn leaves'), /^Autumn leaves .*\n.*\n.*$/);
  assert.match(ask('Schreibe ein Gedicht über den Herbst'), /^Zeilen über den Herbst,\n/);
  assert.match(
    ask('Write a function that reverses a string in Python'),
    /^```python\ndef reverses_string\(value\):\n {4}# Simulated.*\n {4}return value\n```$/,
  );
  assert.match(ask('Write a TypeScript function to add two numbers'), /^```typescript\nfunction addTwoNumbers\(/);
});

test('a text is translated, summarized and rewritten from its own words', () => {
  assert.match(ask('Translate "good morning" into French'), /^« good morning » \(Résultat simulé/);
  assert.match(ask('Summarise this: The fox jumps. It rests.'), /^The fox jumps\. \(Simulated/);
  assert.equal(ask('Summarize in 2 bullet points: The fox jumps. It rests. It eats.'), '- The fox jumps.\n- It rests.');
  assert.match(ask('Rewrite this politely: give me the report'), /^Give me the report\. \(Simulated/);
});

test('a follow-up keeps the topic or works on the answer', () => {
  const talk = [user('What is a black hole?'), assistant('A dark star. It is heavy.')];
  const follow = (prompt: string) => composeChatReply(undefined, [...talk, user(prompt)]) ?? '';
  assert.match(follow('And in French?'), /^À propos de « a black hole » :/);
  assert.match(follow('Why?'), /^About a black hole: /);
  assert.equal(follow('Shorter, please'), 'A simulated answer about a black hole.');
  assert.match(follow('Translate that to German'), /^„A dark star\. It is heavy\.“/);
});

const CALL = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } } as const;
const afterTool = (content: string, prompt = 'weather in Paris?') =>
  composeChatReply(undefined, [
    user(prompt),
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'c1', content },
  ]);

test('the turn after a tool result tells its values, its text or its error', () => {
  assert.equal(
    afterTool('{"city":"Paris","wind":{"kmh":5},"tags":["a"]}'),
    'According to weather, city is Paris, wind.kmh is 5, tags[0] is a.',
  );
  assert.equal(afterTool('sunny'), 'weather returned “sunny”.');
  assert.equal(afterTool('{"temp":3}', '巴黎天气怎么样？'), '根据 weather 的结果，temp 为 3。');
  assert.equal(
    afterTool('{"error":{"message":"no such city"}}', 'Wie ist das Wetter?'),
    'weather ist fehlgeschlagen: „no such city“.',
  );
  assert.equal(afterTool('sunny', '[tools=1] weather?'), undefined);
});

test('every dialect, streamed or not, replies to a tool result and keeps white space', async () => {
  const sandbox = await startSandbox({ simulators: [openaiSimulator, anthropicSimulator, geminiSimulator] });
  const post = async (name: string, path: string, body: object): Promise<string> => {
    const key = String(sandbox.credentials(name).api_key);
    const response = await fetch(`${sandbox.url(name)}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'x-api-key': key, 'x-goog-api-key': key, 'anthropic-version': '1' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200);
    return response.text();
  };
  const chat = { model: 'sandbox-chat' };
  const claude = { model: 'sandbox-claude', max_tokens: 100 };
  const use = { type: 'tool_use', id: 't1', name: 'weather', input: {} };
  const item = { type: 'function_call', call_id: 'f1', name: 'weather', arguments: '{}' };
  const json = '{"temp":21}';
  const gemini = '/v1beta/models/sandbox-gemini:';
  const turn = (role: string, part: object) => ({ role, parts: [part] });
  const code = 'Write a Python function to add';
  /** Name, path, body after a tool result, body that asks for code. */
  const dialects: readonly (readonly [string, string, object, object])[] = [
    [
      'openai',
      '/v1/chat/completions',
      {
        ...chat,
        messages: [
          user('weather?'),
          { role: 'assistant', content: null, tool_calls: [CALL] },
          { role: 'tool', tool_call_id: 'c1', content: json },
        ],
      },
      { ...chat, messages: [user(code)] },
    ],
    [
      'openai',
      '/v1/responses',
      { ...chat, input: [user('weather?'), item, { type: 'function_call_output', call_id: 'f1', output: json }] },
      { ...chat, input: code },
    ],
    [
      'anthropic',
      '/v1/messages',
      {
        ...claude,
        messages: [
          user('weather?'),
          assistant([use]),
          user([{ type: 'tool_result', tool_use_id: 't1', content: json }]),
        ],
      },
      { ...claude, messages: [user(code)] },
    ],
    [
      'gemini',
      gemini,
      {
        contents: [
          turn('user', { text: 'weather?' }),
          turn('model', { functionCall: { name: 'weather', args: {} } }),
          turn('user', { functionResponse: { name: 'weather', response: { temp: 21 } } }),
        ],
      },
      { contents: [turn('user', { text: code })] },
    ],
  ];
  for (const [name, path, afterResult, forCode] of dialects)
    for (const isStream of [false, true]) {
      const address =
        name === 'gemini' ? `${path}${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}` : path;
      const stream = isStream && name !== 'gemini' ? { stream: true } : {};
      const told = textIn(await post(name, address, { ...afterResult, ...stream }));
      assert.equal(told, 'According to weather, temp is 21.', `${path} ${isStream}`);
      const written = textIn(await post(name, address, { ...forCode, ...stream }));
      assert.match(written, /^```python\ndef add\(value\):\n {4}# Simulated.*\n {4}return value\n```$/, path);
    }
  await sandbox.stop();
});

const TEXT_MEMBERS: readonly string[] = ['content', 'text', 'delta'];

/** The text of a response: of a stream, its deltas put together. */
function textIn(body: string): string {
  const isStream = /^(?:event|data): /.test(body);
  const documents = isStream
    ? [...body.matchAll(/^data: (\{.*\})\r?$/gm)].map(([, json = '']) => JSON.parse(json) as { type?: string })
    : [JSON.parse(body) as { type?: string }];
  const pieces: string[] = [];
  const collect = (value: unknown, member = ''): void => {
    if (typeof value === 'string' && TEXT_MEMBERS.includes(member)) pieces.push(value);
    if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) collect(each, Array.isArray(value) ? '' : name);
  };
  for (const each of documents) {
    // Of the Responses API, the events that repeat the whole text.
    if (isStream && each.type?.startsWith('response.') === true && each.type !== 'response.output_text.delta') continue;
    collect(isStream ? each : { ...each, text: undefined });
  }
  return pieces.join('');
}
