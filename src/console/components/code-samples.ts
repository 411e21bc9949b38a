import type { ChatRequest } from '../../sdk/chat.ts';

/** Quotes a text as one word of a POSIX shell. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** JSON as a Python literal; only `true`, `false` and `null` differ. */
export const formatPython = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(/("(?:[^"\\]|\\.)*")|\b(?:true|false|null)\b/g, (word, text?: string) =>
    text !== undefined ? word : ({ true: 'True', false: 'False', null: 'None' }[word] ?? word),
  );

/** Placeholder in samples that the reader replaces with an API key. */
export const API_KEY_PLACEHOLDER = 'YOUR_API_KEY';

/** A POST request with a JSON body as a curl command. @param path begins with a slash */
const formatCurl = (origin: string, path: string, body: unknown): string =>
  [
    `curl ${origin}${path} \\`,
    `  -H "Authorization: Bearer ${API_KEY_PLACEHOLDER}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoteForShell(JSON.stringify(body, null, 2))}`,
  ].join('\n');

/** A chat call as code in several languages, with an API key. */
export function chatSamples(body: ChatRequest & { readonly stream?: boolean }, origin: string) {
  const { messages, ...rest } = body;
  const keywords = Object.entries({ ...rest, messages }).map(([name, value]) => `    ${name}=${formatPython(value)},`);
  return {
    curl: formatCurl(origin, '/v1/chat/completions', body),
    Python: [
      'from openai import OpenAI  # pip install openai',
      '',
      `client = OpenAI(base_url="${origin}/v1", api_key="${API_KEY_PLACEHOLDER}")`,
      'stream = client.chat.completions.create(',
      ...keywords,
      ')',
      'for event in stream:',
      '    if event.choices:',
      '        print(event.choices[0].delta.content or "", end="")',
    ].join('\n'),
    TypeScript: [
      "import OpenAI from 'openai'; // npm install openai",
      '',
      `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${API_KEY_PLACEHOLDER}' });`,
      `const stream = await client.chat.completions.create(${JSON.stringify(body, null, 2)});`,
      'for await (const event of stream) {',
      "  process.stdout.write(event.choices[0]?.delta.content ?? '');",
      '}',
    ].join('\n'),
  };
}

/** Request body of an image call. */
export interface ImageRequest {
  readonly model: string;
  readonly prompt: string;
  readonly n: number;
  readonly size?: string;
}

/** An image call as code in several languages, with an API key. */
export const imageSamples = (body: ImageRequest, origin: string) => ({
  curl: formatCurl(origin, '/v1/images/generations', body),
  Python: [
    'from openai import OpenAI  # pip install openai',
    '',
    `client = OpenAI(base_url="${origin}/v1", api_key="${API_KEY_PLACEHOLDER}")`,
    'result = client.images.generate(',
    ...Object.entries(body).map(([name, value]) => `    ${name}=${formatPython(value)},`),
    ')',
    'print(result.data)',
  ].join('\n'),
  TypeScript: [
    "import OpenAI from 'openai'; // npm install openai",
    '',
    `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${API_KEY_PLACEHOLDER}' });`,
    `const result = await client.images.generate(${JSON.stringify(body, null, 2)});`,
    'console.log(result.data);',
  ].join('\n'),
});
