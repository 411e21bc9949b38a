import { API_KEY_PLACEHOLDER, toCurl, toPython } from '../../components/code-sample-formatting.ts';

export interface ImageRequest {
  readonly model: string;
  readonly prompt: string;
  readonly n: number;
  readonly size?: string;
}

/** Exactly this call as a program, by an API key. */
export const imageSamples = (body: ImageRequest, origin: string) => ({
  curl: toCurl(origin, '/v1/images/generations', body),
  Python: [
    'from openai import OpenAI  # pip install openai',
    '',
    `client = OpenAI(base_url="${origin}/v1", api_key="${API_KEY_PLACEHOLDER}")`,
    'result = client.images.generate(',
    ...Object.entries(body).map(([name, value]) => `    ${name}=${toPython(value)},`),
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
