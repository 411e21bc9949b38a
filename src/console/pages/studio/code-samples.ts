const API_KEY_PLACEHOLDER = 'YOUR_API_KEY';
/** Pictures are too long to read; a program takes its own. */
const IMAGE_PLACEHOLDER = 'https://example.com/picture.png';

type Body = Readonly<Record<string, unknown>>;

/** Uploaded pictures are replaced by a placeholder for a URL. */
function withoutUploads(body: Body): Body {
  const short = (value: unknown): unknown =>
    typeof value === 'string' && value.startsWith('data:') ? IMAGE_PLACEHOLDER : value;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key, Array.isArray(value) ? value.map(short) : short(value)]),
  );
}

/** A text as one word of a POSIX shell. */
const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function toCurl(body: Body, baseUrl: string): string {
  return [
    `curl ${baseUrl}/v1/video/generations \\`,
    `  -H "Authorization: Bearer ${API_KEY_PLACEHOLDER}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoteForShell(JSON.stringify(withoutUploads(body), null, 2))}`,
  ].join('\n');
}

export function toSdkSample(body: Body, baseUrl: string): string {
  return [
    "import { Reelgate } from './src/sdk/index.ts';",
    '',
    `const reelgate = new Reelgate({ baseUrl: '${baseUrl}', credentials: { apiKey: '${API_KEY_PLACEHOLDER}' } });`,
    `const { id } = await reelgate.videos.create(${JSON.stringify(withoutUploads(body), null, 2)});`,
    'const video = await reelgate.videos.wait(id, { onProgress: ({ progress }) => console.log(progress) });',
    'const file = await reelgate.videos.content(video.id);',
  ].join('\n');
}

/** Options of `reelgate video create` by the field of the request they fill. */
const CLI_OPTIONS: Readonly<Record<string, string>> = {
  model: '--model',
  duration: '--seconds',
  seconds: '--seconds',
  size: '--size',
  mode: '--mode',
  image: '--image',
  metadata: '--metadata',
};

export function toCliCommand(body: Body, baseUrl: string): string {
  const { prompt = '', images, ...rest } = withoutUploads(body);
  const options = Object.entries(rest).flatMap(([key, value]) =>
    CLI_OPTIONS[key] === undefined
      ? []
      : [`${CLI_OPTIONS[key]} ${quoteForShell(typeof value === 'string' ? value : JSON.stringify(value))}`],
  );
  const pictures = Array.isArray(images) ? images.map((each) => `--image ${quoteForShell(String(each))}`) : [];
  return [
    `export REELGATE_URL=${baseUrl} REELGATE_API_KEY=${API_KEY_PLACEHOLDER}`,
    [`reelgate video create ${quoteForShell(String(prompt))}`, ...options, ...pictures, '--out video.mp4'].join(
      ' \\\n  ',
    ),
  ].join('\n');
}
