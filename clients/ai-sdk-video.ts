import assert from 'node:assert/strict';
import { APICallError, experimental_generateVideo as generateVideo } from 'ai';
import { API_KEY, BASE_URL, PIXEL, REFERENCE_VIDEO, VIDEO } from './service-setup.ts';

/** A provider of videos for Vercel's AI SDK, to be copied; the programs below try it. */

type VideoModel = Extract<Parameters<typeof generateVideo>[0]['model'], { specificationVersion: 'v4' }>;
type CallOptions = Parameters<NonNullable<VideoModel['doStart']>>[0];
type File = NonNullable<CallOptions['image']>;
type Warning = Awaited<ReturnType<NonNullable<VideoModel['doStart']>>>['warnings'][number];
interface Video {
  readonly id: string;
  readonly status: string;
  readonly error?: { readonly message?: string };
}

/** Options of the SDK without a counterpart; `providerOptions.reelgate` becomes `metadata`, where most models have one. */
const UNSUPPORTED = ['fps', 'seed', 'generateAudio'] as const;

/** @param baseURL ends in `/v1` */
export function createReelgate({ apiKey, baseURL }: { readonly apiKey: string; readonly baseURL: string }) {
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${apiKey}`);
    if (init.body !== undefined) headers.set('content-type', 'application/json');
    const url = `${baseURL}${path}`;
    const response = await fetch(url, { ...init, headers });
    if (response.ok) return response;
    const responseBody = await response.text();
    const { status: statusCode } = response;
    const told = /"message":"((?:[^"\\]|\\.)*)"/.exec(responseBody)?.[1] ?? responseBody;
    throw new APICallError({ message: told, url, requestBodyValues: init.body, statusCode, responseBody });
  };
  const responseOf = (modelId: string) => ({ timestamp: new Date(), modelId, headers: undefined });

  return (modelId: string): VideoModel => ({
    specificationVersion: 'v4',
    provider: 'reelgate',
    modelId,
    maxVideosPerCall: 1,
    async doStart({ headers, abortSignal, ...options }) {
      const init = { method: 'POST', headers: defined(headers), signal: abortSignal ?? null };
      const response = await request('/videos', { ...init, body: JSON.stringify(toBody(modelId, options)) });
      const { id } = (await response.json()) as Video;
      const unused = UNSUPPORTED.filter((feature) => options[feature] !== undefined);
      const warnings = unused.map((feature): Warning => ({ type: 'unsupported', feature }));
      return { operation: id, warnings, response: responseOf(modelId) };
    },
    async doStatus({ operation, headers, abortSignal }) {
      const init = { headers: defined(headers), signal: abortSignal ?? null };
      const path = `/videos/${encodeURIComponent(operation as string)}`;
      // Answers when the video ends, so that polling is cheap.
      const { status, error } = (await (await request(`${path}?wait=20`, init)).json()) as Video;
      const response = responseOf(modelId);
      if (status === 'failed') return { status: 'error', error: error?.message ?? 'The video failed.', response };
      if (status !== 'completed') return { status: 'pending', response };
      const file = await request(`${path}/content`, init);
      const data = new Uint8Array(await file.arrayBuffer());
      const mediaType = file.headers.get('content-type') ?? 'video/mp4';
      return { status: 'completed', videos: [{ type: 'binary', data, mediaType }], warnings: [], response };
    },
  });
}

const defined = (headers: Record<string, string | undefined> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined));

function toBody(model: string, options: Omit<CallOptions, 'headers' | 'abortSignal'>): object {
  const { prompt, duration, resolution, aspectRatio, image, frameImages, inputReferences, providerOptions } = options;
  // The first frame of `frameImages` is repeated in `image`.
  const frames = frameImages ?? (image === undefined ? [] : [{ image, frameType: 'first_frame' }]);
  const inputs = [
    ...frames.map((frame) => toInput(frame.image, frame.frameType)),
    ...(inputReferences ?? []).map((file) => toInput(file, 'reference')),
  ];
  return {
    model,
    prompt,
    seconds: duration === undefined ? undefined : String(duration),
    size: resolution ?? toFrame(aspectRatio),
    inputs: inputs.length === 0 ? undefined : inputs,
    metadata: providerOptions.reelgate,
  };
}

function toInput(file: File, role: string): object {
  const type = /^(?:image|video|audio)/.exec(file.mediaType ?? '')?.[0] ?? 'image';
  if (file.type === 'url') return { type, role, url: file.url };
  return { type, role, data: typeof file.data === 'string' ? file.data : Buffer.from(file.data).toString('base64') };
}

/** `16:9` as a frame of 720 lines, which the service turns into the ratio. */
function toFrame(ratio: string | undefined): string | undefined {
  const [width, height] = (ratio ?? '').split(':').map(Number);
  if (!width || !height) return undefined;
  const scale = 720 / Math.min(width, height);
  return `${Math.round(width * scale)}x${Math.round(height * scale)}`;
}

// The provider in use

const reelgate = createReelgate({ apiKey: API_KEY, baseURL: BASE_URL });
const poll = { intervalMs: 50 };

const { video, warnings } = await generateVideo({
  ...{ model: reelgate(VIDEO), prompt: 'a heron', duration: 4, aspectRatio: '9:16', seed: 7, poll },
});
assert.equal(Buffer.from(video.uint8Array).toString('latin1', 4, 8), 'ftyp');
assert.deepEqual(warnings, [{ type: 'unsupported', feature: 'seed' }]);

const frame = await generateVideo({ model: reelgate(VIDEO), prompt: { image: PIXEL, text: 'the pixel moves' }, poll });
assert.equal(frame.video.mediaType, 'video/mp4');

const between = await generateVideo({
  ...{ model: reelgate(REFERENCE_VIDEO), prompt: 'from one to the other', poll },
  frameImages: [
    { image: PIXEL, frameType: 'first_frame' },
    { image: PIXEL, frameType: 'last_frame' },
  ],
});
const cast = await generateVideo({
  ...{ model: reelgate(REFERENCE_VIDEO), prompt: '@Image1 runs', inputReferences: [PIXEL], poll },
  providerOptions: { reelgate: { resolution: '768P', aigc_watermark: true } },
});
for (const { video: each } of [between, cast]) assert.ok(each.uint8Array.length > 1_000);

await assert.rejects(
  generateVideo({ model: reelgate('absent'), prompt: 'x', maxRetries: 0, poll }),
  (error) => APICallError.isInstance(error) && error.statusCode === 404 && /absent/.test(error.message),
);
await assert.rejects(generateVideo({ model: reelgate(VIDEO), prompt: 'doom [fail]', maxRetries: 0, poll }), /\S/);
