import { API_KEY_PLACEHOLDER } from '../../../components/code-samples.ts';
import { videoCodeSamples } from '../../studio/video-code-samples.ts';

const toBase64 = (value: unknown): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))));

/**
 * Cherry Studio's deep link for a provider: base64 of JSON, with `_` for `+` and `-` for `/`. The client appends `/v1`
 * itself. Source: CherryHQ/cherry-studio, src/main/services/urlschema/handle-providers.ts.
 */
function toCherryStudioLink({ origin, apiKey, siteName }: SampleValues): string {
  const data = toBase64({ id: 'reelgate', name: siteName, type: 'openai', baseUrl: origin, apiKey });
  return `cherrystudio://providers/api-keys?v=1&data=${encodeURIComponent(data.replaceAll('+', '_').replaceAll('/', '-'))}`;
}

/** Chatbox's deep link for a provider. Source: docs.chatboxai.app, "Provider configuration", deep link format. */
function toChatboxLink({ origin, apiKey, model, siteName }: SampleValues): string {
  const config = toBase64({
    id: 'reelgate',
    name: siteName,
    type: 'openai',
    settings: { apiHost: origin, apiPath: '/v1/chat/completions', apiKey, models: [{ modelId: model, type: 'chat' }] },
  });
  return `chatbox://provider/import?config=${encodeURIComponent(config)}`;
}

interface Sample {
  /** Path of the configuration file; undefined: the sample is for a terminal. */
  readonly file?: string | undefined;
  readonly text: string;
}

/** Setup instructions for one client. */
export interface Client {
  readonly id: string;
  readonly title: string;
  /** Clients that generate a video come first; all others chat. */
  readonly group?: 'video';
  readonly samples: (connection: SampleValues) => readonly Sample[];
  /** Opens the client with the settings filled in; the client asks before saving. */
  readonly link?: (connection: SampleValues) => string;
}

const env = (lines: Readonly<Record<string, string>>, prefix = ''): string =>
  Object.entries(lines)
    .map(([name, value]) => `${prefix}${name}=${value}`)
    .join('\n');
const openAiEnv = ({ origin, apiKey }: SampleValues) => ({ OPENAI_BASE_URL: `${origin}/v1`, OPENAI_API_KEY: apiKey });

const curl: Client['samples'] = ({ origin, apiKey, model }) => [
  {
    text: [
      `curl ${origin}/v1/chat/completions \\`,
      `  -H "Authorization: Bearer ${apiKey}" \\`,
      '  -H "Content-Type: application/json" \\',
      `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    ].join('\n'),
  },
];

const python: Client['samples'] = ({ origin, apiKey, model }) => [
  { text: 'pip install openai' },
  {
    file: 'hello.py',
    text: [
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url="${origin}/v1", api_key="${apiKey}")`,
      `answer = client.chat.completions.create(model="${model}", messages=[{"role": "user", "content": "Hello"}])`,
      'print(answer.choices[0].message.content)',
    ].join('\n'),
  },
];

const node: Client['samples'] = ({ origin, apiKey, model }) => [
  { text: 'npm install openai' },
  {
    file: 'hello.mjs',
    text: [
      "import OpenAI from 'openai';",
      '',
      `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${apiKey}' });`,
      `const answer = await client.chat.completions.create({ model: '${model}', messages: [{ role: 'user', content: 'Hello' }] });`,
      'console.log(answer.choices[0].message.content);',
    ].join('\n'),
  },
];

const aiSdk: Client['samples'] = ({ origin, apiKey, model }) => [
  { text: 'npm install ai @ai-sdk/openai-compatible' },
  {
    file: 'hello.mjs',
    text: [
      "import { createOpenAICompatible } from '@ai-sdk/openai-compatible';",
      "import { generateText } from 'ai';",
      '',
      `const reelgate = createOpenAICompatible({ name: 'reelgate', baseURL: '${origin}/v1', apiKey: '${apiKey}' });`,
      `const { text } = await generateText({ model: reelgate('${model}'), prompt: 'Hello' });`,
      'console.log(text);',
    ].join('\n'),
  },
];

const langChain: Client['samples'] = ({ origin, apiKey, model }) => [
  { text: 'pip install langchain-openai' },
  {
    file: 'hello.py',
    text: [
      'from langchain_openai import ChatOpenAI',
      '',
      `model = ChatOpenAI(model="${model}", base_url="${origin}/v1", api_key="${apiKey}")`,
      'print(model.invoke("Hello").content)',
    ].join('\n'),
  },
];

const anthropicSdk: Client['samples'] = ({ origin, apiKey, model }) => [
  { text: 'npm install @anthropic-ai/sdk' },
  {
    file: 'hello.mjs',
    text: [
      "import Anthropic from '@anthropic-ai/sdk';",
      '',
      `const client = new Anthropic({ baseURL: '${origin}', apiKey: '${apiKey}' });`,
      `const answer = await client.messages.create({ model: '${model}', max_tokens: 500, messages: [{ role: 'user', content: 'Hello' }] });`,
      'console.log(answer.content[0].text);',
    ].join('\n'),
  },
];

const googleSdk: Client['samples'] = ({ origin, apiKey, model }) => [
  { text: 'npm install @google/genai' },
  {
    file: 'hello.mjs',
    text: [
      "import { GoogleGenAI } from '@google/genai';",
      '',
      `const client = new GoogleGenAI({ apiKey: '${apiKey}', httpOptions: { baseUrl: '${origin}' } });`,
      `const answer = await client.models.generateContent({ model: '${model}', contents: 'Hello' });`,
      'console.log(answer.text);',
    ].join('\n'),
  },
];

const geminiCli: Client['samples'] = ({ origin, apiKey, model }) => [
  { text: `${env({ GOOGLE_GEMINI_BASE_URL: origin, GEMINI_API_KEY: apiKey }, 'export ')}\ngemini -m ${model}` },
];

/**
 * Environment variables of Claude Code 2.1 (code.claude.com/docs, "Model configuration"). Titles and summaries use a
 * small model, and subagents use the aliases opus and sonnet: each of them is an Anthropic model unless overridden.
 */
const claudeCodeEnv = ({ origin, apiKey, model }: Pick<SampleValues, 'origin' | 'apiKey' | 'model'>) => ({
  ANTHROPIC_BASE_URL: origin,
  ANTHROPIC_AUTH_TOKEN: apiKey,
  ANTHROPIC_MODEL: model,
  ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
  ANTHROPIC_DEFAULT_SONNET_MODEL: model,
  ANTHROPIC_DEFAULT_OPUS_MODEL: model,
});

const codexConfig: Client['samples'] = ({ origin, apiKey, model }) => [
  {
    file: '~/.codex/config.toml',
    text: [
      `model = "${model}"`,
      'model_provider = "reelgate"',
      '',
      '[model_providers.reelgate]',
      'name = "Reelgate"',
      `base_url = "${origin}/v1"`,
      'env_key = "REELGATE_API_KEY"',
      'wire_api = "responses"',
    ].join('\n'),
  },
  { text: `export REELGATE_API_KEY=${apiKey}\ncodex` },
];

const libreChat: Client['samples'] = ({ origin, apiKey, model, siteName }) => [
  {
    file: 'librechat.yaml',
    text: [
      'version: 1.2.1',
      'endpoints:',
      '  custom:',
      `    - name: "${siteName}"`,
      `      apiKey: "${apiKey}"`,
      // LibreChat runs in Docker.
      `      baseURL: "${fromContainer(origin)}/v1"`,
      '      models:',
      `        default: ["${model}"]`,
      '        fetch: true',
    ].join('\n'),
  },
];

const PROMPT = 'A paper boat on a rainy street at dusk';

/** The studio's sample in one language, with the key. */
const videoSample =
  (language: keyof ReturnType<typeof videoCodeSamples>, file?: string): Client['samples'] =>
  ({ origin, apiKey, videoModel, version }) => {
    const text = videoCodeSamples({ model: videoModel, prompt: PROMPT }, origin, version)[language];
    return [{ file, text: text.replaceAll(API_KEY_PLACEHOLDER, apiKey) }];
  };

const videoSdk: Client['samples'] = ({ origin, apiKey, videoModel, version }) => [
  // Neither this package nor that of the command line is in a registry.
  { text: `npm install reelgate-sdk-${version}.tgz` },
  {
    file: 'video.mjs',
    text: [
      "import { Reelgate } from '@reelgate/sdk';",
      '',
      `const reelgate = new Reelgate({ baseUrl: '${origin}', credentials: { apiKey: '${apiKey}' } });`,
      `const { id } = await reelgate.videos.create({ model: '${videoModel}', prompt: '${PROMPT}' });`,
      'const video = await reelgate.videos.wait(id, { onProgress: ({ progress }) => console.log(progress) });',
      "console.log(video.status === 'completed' ? video.metadata?.url : video.error?.message);",
    ].join('\n'),
  },
];

const addressAndKey: Client['samples'] = ({ origin, apiKey }) => [{ text: `${origin}/v1` }, { text: apiKey }];

/** Supported clients, in the order of the tabs. */
export const CLIENTS = [
  { id: 'videoCurl', group: 'video', title: 'curl', samples: videoSample('curl') },
  { id: 'videoSdk', group: 'video', title: 'Reelgate SDK', samples: videoSdk },
  { id: 'cli', group: 'video', title: 'Reelgate CLI', samples: videoSample('CLI') },
  { id: 'videoPython', group: 'video', title: 'Python', samples: videoSample('Python', 'video.py') },
  { id: 'curl', title: 'OpenAI API', samples: curl },
  { id: 'env', title: '.env', samples: (connection) => [{ file: '.env', text: env(openAiEnv(connection)) }] },
  { id: 'python', title: 'OpenAI Python', samples: python },
  { id: 'node', title: 'OpenAI Node.js', samples: node },
  { id: 'aiSdk', title: 'AI SDK', samples: aiSdk },
  { id: 'langChain', title: 'LangChain', samples: langChain },
  { id: 'anthropicSdk', title: 'Anthropic SDK', samples: anthropicSdk },
  { id: 'googleSdk', title: 'Google Gen AI', samples: googleSdk },
  {
    id: 'claudeCode',
    title: 'Claude Code',
    samples: ({ origin, apiKey, model }) => [
      {
        text: `${env(claudeCodeEnv({ origin, apiKey, model }), 'export ')}\nclaude`,
      },
    ],
  },
  {
    id: 'mcp',
    title: 'MCP',
    samples: ({ origin, apiKey }) => [
      { text: `claude mcp add --transport http reelgate ${origin}/mcp --header "Authorization: Bearer ${apiKey}"` },
      {
        file: 'mcp.json',
        text: JSON.stringify(
          {
            mcpServers: {
              reelgate: { type: 'http', url: `${origin}/mcp`, headers: { Authorization: `Bearer ${apiKey}` } },
            },
          },
          undefined,
          2,
        ),
      },
    ],
  },
  { id: 'codex', title: 'Codex', samples: codexConfig },
  { id: 'geminiCli', title: 'Gemini CLI', samples: geminiCli },
  { id: 'cherryStudio', title: 'Cherry Studio', samples: addressAndKey, link: toCherryStudioLink },
  { id: 'chatbox', title: 'Chatbox', samples: addressAndKey, link: toChatboxLink },
  {
    id: 'openWebUi',
    title: 'Open WebUI',
    samples: ({ origin, apiKey }) => [
      {
        text: [
          'docker run -d -p 8080:8080 -v open-webui:/app/backend/data \\',
          ...(isLoopback(origin) ? ['  --add-host=host.docker.internal:host-gateway \\'] : []),
          `  -e OPENAI_API_BASE_URL=${fromContainer(origin)}/v1 -e OPENAI_API_KEY=${apiKey} \\`,
          '  ghcr.io/open-webui/open-webui:main',
        ].join('\n'),
      },
    ],
  },
  { id: 'libreChat', title: 'LibreChat', samples: libreChat },
  { id: 'cursor', title: 'Cursor', samples: addressAndKey },
] as const satisfies readonly Client[];
const isLoopback = (origin: string): boolean => /^https?:\/\/(localhost|127\.|\[::1\])/.test(origin);

/** The service's address as a container on the same machine reaches it. */
const fromContainer = (origin: string): string =>
  isLoopback(origin) ? origin.replace(/\/\/(\[::1\]|[^:/]+)/, '//host.docker.internal') : origin;

/** Id of a supported client. */
export type ClientId = (typeof CLIENTS)[number]['id'];

/** Values that the samples are filled with. */
export interface SampleValues {
  /** Base URL of the service, without a trailing slash. */
  readonly origin: string;
  readonly apiKey: string;
  /** A chat model this key can call. */
  readonly model: string;
  /** A video model this key can call. */
  readonly videoModel: string;
  readonly siteName: string;
  /** Of the service; its release has the packages for clients. */
  readonly version: string;
}
