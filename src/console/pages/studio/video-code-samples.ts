import type { VideoInput } from '../../../contract/generation-ways.ts';
import { API_KEY_PLACEHOLDER, formatPython, quoteForShell } from '../../components/code-samples.ts';

/** Replaces content of this page, which is too long to read in a sample. */
const FILE_PLACEHOLDER = 'https://example.com/image.png';

type Body = Readonly<Record<string, unknown>>;

/** Replaces inputs by value by a placeholder URL. */
function withoutData(body: Body): Body {
  const { inputs } = body;
  if (!Array.isArray(inputs)) return body;
  return {
    ...body,
    inputs: (inputs as readonly VideoInput[]).map(({ data, ...input }) =>
      data === undefined ? input : { ...input, url: FILE_PLACEHOLDER },
    ),
  };
}

/**
 * A video request as code in several languages: submit, wait, and save the file unless the video failed.
 *
 * @param version of the service, whose release has the file of the command line
 */
export const videoCodeSamples = (given: Body, baseUrl: string, version = 'X.Y.Z') => {
  const body = withoutData(given);
  return {
    curl: toCurlSample(body, baseUrl),
    Python: toPythonSample(body, baseUrl),
    'Node.js': toNodeSample(body, baseUrl),
    CLI: `# Once, with the file of the release: npm install -g reelgate-cli-${version}.tgz\n${toCliCommand(body, baseUrl)}`,
  };
};

const toCurlSample = (body: Body, baseUrl: string): string =>
  [
    `videos=${baseUrl}/v1/videos`,
    `auth='Authorization: Bearer ${API_KEY_PLACEHOLDER}'`,
    `video=$(curl -sS "$videos" -H "$auth" -H 'Content-Type: application/json' \\`,
    `  -d ${quoteForShell(JSON.stringify(body, null, 2))})`,
    'id=$(jq -r .id <<< "$video")',
    // A response without a status is an error.
    'while jq -e \'.status and .status != "completed" and .status != "failed"\' <<< "$video" > /dev/null; do',
    '  # Answers when the video has ended, at the latest after 60 seconds.',
    '  video=$(curl -sS "$videos/$id?wait=60" -H "$auth")',
    'done',
    'if jq -e \'.status == "completed"\' <<< "$video" > /dev/null',
    'then curl -sS "$videos/$id/content" -H "$auth" -o video.mp4',
    'else jq -r .error.message <<< "$video"; fi',
  ].join('\n');

function toPythonSample(body: Body, baseUrl: string): string {
  return [
    'import requests  # pip install requests',
    '',
    'session = requests.Session()',
    `session.headers["Authorization"] = "Bearer ${API_KEY_PLACEHOLDER}"`,
    `videos = "${baseUrl}/v1/videos"`,
    '',
    'def read(response):',
    '    video = response.json()',
    '    if response.ok and video["status"] != "failed":',
    '        return video',
    '    raise SystemExit(video["error"]["message"])',
    '',
    `video = read(session.post(videos, json=${formatPython(body)}))`,
    'while video["status"] != "completed":',
    '    # Answers when the video has ended, at the latest after 60 seconds.',
    '    video = read(session.get(f"{videos}/{video[\'id\']}?wait=60"))',
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
    `const body = JSON.stringify(${JSON.stringify(body, null, 2)});`,
    'const read = async (response) => {',
    '  const video = await response.json();',
    "  if (response.ok && video.status !== 'failed') return video;",
    '  throw new Error(video.error.message);',
    '};',
    "let video = await read(await fetch(videos, { method: 'POST', headers, body }));",
    "while (video.status !== 'completed') {",
    '  // Answers when the video has ended, at the latest after 60 seconds.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code of the sample
    '  video = await read(await fetch(`${videos}/${video.id}?wait=60`, { headers }));',
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
  metadata: '--metadata',
};

/** Those of `reelgate video edit` and `extend`. */
const CHANGE_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  edit: ['--model'],
  extend: ['--model', '--seconds'],
};

function toCliCommand(body: Body, baseUrl: string): string {
  const { prompt = '', inputs = [], operation = 'generate', ...rest } = body;
  const given = inputs as readonly VideoInput[];
  const source = operation === 'generate' ? undefined : given.find(({ role }) => role === 'source');
  const known = source === undefined ? undefined : CHANGE_OPTIONS[String(operation)];
  const options = Object.entries(rest).flatMap(([key, value]) => {
    const name = CLI_OPTIONS[key];
    if (name === undefined || known?.includes(name) === false) return [];
    return [`${name} ${quoteForShell(typeof value === 'string' ? value : JSON.stringify(value))}`];
  });
  const media = given.filter((input) => input !== source).map(toMediaOption);
  const isShortened = known !== undefined && options.length < media.length + Object.keys(rest).length;
  // A video by its URL is downloaded first: the command takes an id or a file.
  const command = source === undefined ? 'create' : `${operation} ${quoteForShell(source.file_id ?? 'source.mp4')}`;
  const words = [`reelgate video ${command} ${quoteForShell(String(prompt))}`, ...options];
  return [
    `export REELGATE_URL=${baseUrl} REELGATE_API_KEY=${API_KEY_PLACEHOLDER}`,
    ...(isShortened ? ['# Without the inputs and settings that the command has no option for.'] : []),
    [...words, ...(source === undefined ? media : []), '--out video.mp4'].join(' \\\n  '),
  ].join('\n');
}

function toMediaOption({ type = 'image', role, at, url, file_id: fileId }: VideoInput): string {
  const prefix = role === undefined ? '' : `${role}${at === undefined ? '' : `@${at}`}=`;
  return `--${type} ${quoteForShell(`${prefix}${url ?? fileId}`)}`;
}
