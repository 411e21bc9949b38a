import {
  API_KEY_PLACEHOLDER,
  formatCurl,
  formatPython,
  quoteForShell,
} from '../../components/code-sample-formatting.ts';

/** Replaces uploaded images, which are too long to read in a sample. */
const IMAGE_PLACEHOLDER = 'https://example.com/image.png';

type Body = Readonly<Record<string, unknown>>;

/** Replaces uploaded images by a placeholder URL. */
function withoutUploads(body: Body): Body {
  const short = (value: unknown): unknown =>
    typeof value === 'string' && value.startsWith('data:') ? IMAGE_PLACEHOLDER : value;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key, Array.isArray(value) ? value.map(short) : short(value)]),
  );
}

/** A video request as code in several languages, with an API key. */
export const videoCodeSamples = (body: Body, baseUrl: string) => ({
  curl: formatCurl(baseUrl, '/v1/video/generations', withoutUploads(body)),
  Python: toPythonSample(body, baseUrl),
  'Node.js': toNodeSample(body, baseUrl),
  CLI: toCliCommand(body, baseUrl),
});

function toPythonSample(body: Body, baseUrl: string): string {
  return [
    'import time',
    'import requests  # pip install requests',
    '',
    'session = requests.Session()',
    `session.headers["Authorization"] = "Bearer ${API_KEY_PLACEHOLDER}"`,
    `videos = "${baseUrl}/v1/videos"`,
    '',
    `video = session.post(videos, json=${formatPython(withoutUploads(body))}).json()`,
    'while video["status"] not in ("completed", "failed"):',
    '    time.sleep(10)',
    '    video = session.get(f"{videos}/{video[\'id\']}").json()',
    'with open("video.mp4", "wb") as file:',
    '    file.write(session.get(f"{videos}/{video[\'id\']}/content").content)',
  ].join('\n');
}

function toNodeSample(body: Body, baseUrl: string): string {
  return [
    "import { writeFile } from 'node:fs/promises';",
    '',
    `const videos = '${baseUrl}/v1/videos';`,
    `const headers = { Authorization: 'Bearer ${API_KEY_PLACEHOLDER}', 'Content-Type': 'application/json' };`,
    `const body = JSON.stringify(${JSON.stringify(withoutUploads(body), null, 2)});`,
    "let video = await (await fetch(videos, { method: 'POST', headers, body })).json();",
    "while (video.status !== 'completed' && video.status !== 'failed') {",
    '  await new Promise((resolve) => setTimeout(resolve, 10_000));',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code of the sample
    '  video = await (await fetch(`${videos}/${video.id}`, { headers })).json();',
    '}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code of the sample
    'const file = await fetch(`${videos}/${video.id}/content`, { headers });',
    "await writeFile('video.mp4', Buffer.from(await file.arrayBuffer()));",
  ].join('\n');
}

/** Options of `reelgate video create` by the request field they set. */
const CLI_OPTIONS: Readonly<Record<string, string>> = {
  model: '--model',
  duration: '--seconds',
  seconds: '--seconds',
  size: '--size',
  mode: '--mode',
  image: '--image',
  metadata: '--metadata',
};

function toCliCommand(body: Body, baseUrl: string): string {
  const { prompt = '', images, ...rest } = withoutUploads(body);
  const options = Object.entries(rest).flatMap(([key, value]) =>
    CLI_OPTIONS[key] === undefined
      ? []
      : [`${CLI_OPTIONS[key]} ${quoteForShell(typeof value === 'string' ? value : JSON.stringify(value))}`],
  );
  const imageOptions = Array.isArray(images) ? images.map((each) => `--image ${quoteForShell(String(each))}`) : [];
  return [
    `export REELGATE_URL=${baseUrl} REELGATE_API_KEY=${API_KEY_PLACEHOLDER}`,
    [`reelgate video create ${quoteForShell(String(prompt))}`, ...options, ...imageOptions, '--out video.mp4'].join(
      ' \\\n  ',
    ),
  ].join('\n');
}
