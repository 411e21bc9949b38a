import type { ChatRequest } from '../../../sdk/chat.ts';
import { quoteForShell, toPython } from '../../components/code-quoting.ts';

const KEY = 'YOUR_API_KEY';

/** Exactly this call as a program, by an API key. */
export function chatSamples(body: ChatRequest & { readonly stream?: boolean }, origin: string) {
  const { messages, ...rest } = body;
  const keywords = Object.entries({ ...rest, messages }).map(([name, value]) => `    ${name}=${toPython(value)},`);
  return {
    curl: [
      `curl ${origin}/v1/chat/completions \\`,
      `  -H "Authorization: Bearer ${KEY}" \\`,
      '  -H "Content-Type: application/json" \\',
      `  -d ${quoteForShell(JSON.stringify(body, null, 2))}`,
    ].join('\n'),
    Python: [
      'from openai import OpenAI  # pip install openai',
      '',
      `client = OpenAI(base_url="${origin}/v1", api_key="${KEY}")`,
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
      `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${KEY}' });`,
      `const stream = await client.chat.completions.create(${JSON.stringify(body, null, 2)});`,
      'for await (const event of stream) {',
      "  process.stdout.write(event.choices[0]?.delta.content ?? '');",
      '}',
    ].join('\n'),
  };
}
