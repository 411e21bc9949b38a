const KEY = 'YOUR_API_KEY';
/** Pictures are too long to read; a program takes its own. */
const PICTURE = 'https://example.com/picture.png';

type Body = Readonly<Record<string, unknown>>;

/** Uploaded pictures give way to a place for a link. */
function readable(body: Body): Body {
  const short = (value: unknown): unknown => (typeof value === 'string' && value.startsWith('data:') ? PICTURE : value);
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [key, Array.isArray(value) ? value.map(short) : short(value)]),
  );
}

/** A text as one word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function toCurl(body: Body, address: string): string {
  return [
    `curl ${address}/v1/video/generations \\`,
    `  -H "Authorization: Bearer ${KEY}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoted(JSON.stringify(readable(body), null, 2))}`,
  ].join('\n');
}

export function toSdk(body: Body, address: string): string {
  return [
    "import { Reelgate } from './src/sdk/index.ts';",
    '',
    `const reelgate = new Reelgate({ baseUrl: '${address}', credentials: { apiKey: '${KEY}' } });`,
    `const { id } = await reelgate.videos.create(${JSON.stringify(readable(body), null, 2)});`,
    'const video = await reelgate.videos.wait(id, { onProgress: ({ progress }) => console.log(progress) });',
    'const file = await reelgate.videos.content(video.id);',
  ].join('\n');
}

/** Options of `reelgate video create` by the field of the request they fill. */
const OPTIONS: Readonly<Record<string, string>> = {
  model: '--model',
  duration: '--seconds',
  seconds: '--seconds',
  size: '--size',
  mode: '--mode',
  image: '--image',
  metadata: '--metadata',
};

export function toCommand(body: Body, address: string): string {
  const { prompt = '', images, ...rest } = readable(body);
  const options = Object.entries(rest).flatMap(([key, value]) =>
    OPTIONS[key] === undefined
      ? []
      : [`${OPTIONS[key]} ${quoted(typeof value === 'string' ? value : JSON.stringify(value))}`],
  );
  const pictures = Array.isArray(images) ? images.map((each) => `--image ${quoted(String(each))}`) : [];
  return [
    `export REELGATE_URL=${address} REELGATE_API_KEY=${KEY}`,
    [`reelgate video create ${quoted(String(prompt))}`, ...options, ...pictures, '--out video.mp4'].join(' \\\n  '),
  ].join('\n');
}
